// SPDX-License-Identifier: Apache-2.0
#include "tipsy/check.hpp"

#include <cmath>

#include <fmt/format.h>

#include "tipsy/findings.hpp"

namespace forebay::tipsy {

namespace {

Json range_json(const ValueRange& range) {
  if (range.empty()) return nullptr;
  return Json::array({range.min, range.max});
}

Json vector_ranges_json(const std::array<ValueRange, 3>& ranges) {
  return Json::array({range_json(ranges[0]), range_json(ranges[1]), range_json(ranges[2])});
}

Json ranges_json(const Findings& findings, const Counts& counts) {
  Json json;
  for (const Family family : kFamilies) {
    const FamilyRanges& ranges = findings.ranges(family);
    Json entry = nullptr;
    if (counts.of(family) > 0) {
      entry = {{"mass", range_json(ranges.mass)},
               {"position", vector_ranges_json(ranges.position)},
               {"velocity", vector_ranges_json(ranges.velocity)},
               {"phi", range_json(ranges.phi)}};
    }
    json[std::string(name_of(family))] = std::move(entry);
  }
  return json;
}

Json problem(ErrorClass kind,
             std::optional<std::uint64_t> offset,
             std::uint64_t count,
             std::string message) {
  return {{"class", name_of(kind)},
          {"offset", offset ? Json(*offset) : Json(nullptr)},
          {"count", count},
          {"message", std::move(message)}};
}

void add_problem(const AnomalyCount& anomaly, std::string_view what, Json& problems) {
  if (anomaly.count == 0) return;
  problems.push_back(problem(ErrorClass::kDamage, anomaly.first_offset_bytes, anomaly.count,
                             fmt::format("{} particles {}, the first at offset {}", anomaly.count,
                                         what, *anomaly.first_offset_bytes)));
}

Json problems_json(const Findings& findings, const Snapshot& snapshot) {
  Json problems = Json::array();
  if (snapshot.trailing_bytes > 0) {
    problems.push_back(
        problem(ErrorClass::kDamage, snapshot.file_bytes - snapshot.trailing_bytes, 1,
                fmt::format("{} bytes follow the last record", snapshot.trailing_bytes)));
  }
  const double time = snapshot.header.time;
  if (!(std::abs(time) < kPlausibleMax))
    problems.push_back(problem(ErrorClass::kDamage, 0, 1,
                               std::isfinite(time)
                                   ? fmt::format("the time {:g} is implausibly large", time)
                                   : "the time is not finite"));
  if (snapshot.counts.total() != snapshot.header.nbodies && !snapshot.is_pad_used)
    problems.push_back(problem(ErrorClass::kDamage, 8, 1,
                               fmt::format("nbodies is {}, but the families sum to {}",
                                           snapshot.header.nbodies, snapshot.counts.total())));
  add_problem(findings.not_finite, "have numbers that are not finite", problems);
  add_problem(findings.implausible, "have implausibly large numbers", problems);
  add_problem(findings.negative_mass, "have a negative mass", problems);
  add_problem(findings.zero, "contain only zeros", problems);
  return problems;
}

bool is_damage(const Error& error) {
  return error.kind() == ErrorClass::kDamage || error.kind() == ErrorClass::kShortFile;
}

/// The document for a file that is not a readable snapshot.
Json unreadable_document(const Error& error) {
  const Json problems =
      Json::array({problem(error.kind(), error.offset_bytes(), 1, error.message())});
  return {{"snapshot", nullptr},
          {"ok", false},
          {"problems", problems},
          {"particles_checked", 0},
          {"ranges", {{"gas", nullptr}, {"dark", nullptr}, {"star", nullptr}}}};
}

}  // namespace

Result<Json> check(const RunOptions& options) {
  auto opened = SnapshotRun::open(options);
  if (!opened && is_damage(opened.error())) return unreadable_document(opened.error());
  if (!opened) return failure(opened.error());
  SnapshotRun& run = **opened;
  const Result<Findings> findings = run.scan(Findings{});
  if (!findings) return failure(findings.error());

  const Json problems = problems_json(*findings, run.snapshot());
  Json json{{"snapshot", to_json(run.snapshot())},
            {"ok", problems.empty()},
            {"problems", problems},
            {"particles_checked", findings->particle_count},
            {"ranges", ranges_json(*findings, run.snapshot().counts)}};
  json.update(run.describe());
  return json;
}

}  // namespace forebay::tipsy
