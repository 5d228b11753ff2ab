// SPDX-License-Identifier: Apache-2.0
#include "tipsy/check.hpp"

#include <cmath>

#include <fmt/format.h>

#include "tipsy/findings.hpp"

namespace forebay::tipsy {

namespace {

Json pair(const ValueRange& range) {
  if (range.empty()) return nullptr;
  return Json::array({range.least, range.most});
}

Json pairs(const std::array<ValueRange, 3>& ranges) {
  return Json::array({pair(ranges[0]), pair(ranges[1]), pair(ranges[2])});
}

Json ranges_json(const Findings& findings, const Counts& counts) {
  Json json;
  for (const Family family : kFamilies) {
    const FamilyRanges& ranges = findings.ranges(family);
    Json entry = nullptr;
    if (counts.of(family) > 0) {
      entry = {{"mass", pair(ranges.mass)},
               {"position", pairs(ranges.position)},
               {"velocity", pairs(ranges.velocity)},
               {"phi", pair(ranges.phi)}};
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

void add_suspicion(const Suspicion& suspicion, std::string_view what, Json& problems) {
  if (suspicion.count == 0) return;
  problems.push_back(problem(ErrorClass::kDamage, suspicion.first_offset_bytes, suspicion.count,
                             fmt::format("{} particles {}, the first at offset {}", suspicion.count,
                                         what, *suspicion.first_offset_bytes)));
}

Json problems_json(const Findings& findings, const Snapshot& snapshot) {
  Json problems = Json::array();
  if (snapshot.trailing_bytes > 0) {
    problems.push_back(
        problem(ErrorClass::kDamage, snapshot.file_bytes - snapshot.trailing_bytes, 1,
                fmt::format("{} bytes follow the last record", snapshot.trailing_bytes)));
  }
  const double time = snapshot.header.time;
  if (!(std::abs(time) < kImplausible))
    problems.push_back(problem(ErrorClass::kDamage, 0, 1,
                               std::isfinite(time)
                                   ? fmt::format("the time {:g} has an absurd magnitude", time)
                                   : "the time is not finite"));
  if (snapshot.counts.total() != snapshot.header.nbodies && !snapshot.pad_used)
    problems.push_back(problem(ErrorClass::kDamage, 8, 1,
                               fmt::format("nbodies is {}, but the families sum to {}",
                                           snapshot.header.nbodies, snapshot.counts.total())));
  add_suspicion(findings.not_finite, "have numbers that are not finite", problems);
  add_suspicion(findings.implausible, "have numbers of an absurd magnitude", problems);
  add_suspicion(findings.negative_mass, "have a mass below zero", problems);
  add_suspicion(findings.zero, "are nothing but zeros", problems);
  return problems;
}

bool is_damage(const Error& error) {
  return error.kind() == ErrorClass::kDamage || error.kind() == ErrorClass::kShortFile;
}

/// The document for a file that is not readable as a snapshot at all.
Json refused(const Error& error) {
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
  auto opened = Run::open(options);
  if (!opened && is_damage(opened.error())) return refused(opened.error());
  if (!opened) return failure(opened.error());
  Run& run = **opened;
  const Result<Findings> findings = run.survey(Findings{});
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
