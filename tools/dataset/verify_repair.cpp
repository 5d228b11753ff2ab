// SPDX-License-Identifier: Apache-2.0
#include "tools/dataset/verify_repair.hpp"

#include <filesystem>

#include "format/verify.hpp"
#include "tools/dataset/read_progress.hpp"
#include "write/repair.hpp"

namespace forebay::dataset_tool {
namespace {

using format::Finding;
using format::RepairedStep;

Json to_json(const Finding& finding) {
  Json json = damage_json(finding.error);
  json["file"] = std::filesystem::path(finding.error.path()).filename().string();
  json["step"] = finding.step ? Json(*finding.step) : Json(nullptr);
  json["field"] = finding.field.empty() ? Json(nullptr) : Json(finding.field);
  json["key"] = finding.key ? Json(*finding.key) : Json(nullptr);
  json["lost_bytes"] = finding.bytes;
  return json;
}

Json document_of(const std::string& path, const format::VerifyReport& report) {
  Json findings = Json::array();
  std::uint64_t lost = 0;
  for (const Finding& finding : report.findings) {
    findings.push_back(to_json(finding));
    lost += finding.bytes;
  }
  return {{"ok", report.findings.empty()},
          {"path", path},
          {"steps", report.steps},
          {"files", report.files},
          {"blocks", report.blocks},
          {"intact_bytes", report.raw_bytes},
          {"lost_bytes", lost},
          {"findings", std::move(findings)}};
}

/// Whether an Error is a finding: damaged commits, or missing ones if there are data files.
bool is_finding(const Error& error) {
  switch (error.kind()) {
    case ErrorClass::kDamage:
    case ErrorClass::kShortFile:
      return true;
    case ErrorClass::kNotFound:
      return error.path().ends_with("/" + std::string(format::kCommitsName));
    default:
      return false;
  }
}

Json to_json(const RepairedStep& step) {
  constexpr std::string_view kOutcomes[] = {"kept", "recovered", "left-out", "dropped"};
  return {{"step", step.step},
          {"outcome", kOutcomes[static_cast<std::uint8_t>(step.outcome)]},
          {"reason", step.reason}};
}

}  // namespace

Result<Json> verify(const VerifyRequest& request) {
  const auto report = format::verify(
      request.path, {.step = request.step,
                     .threads = request.threads,
                     .progress = read_progress(request.progress, {"reading " + request.path})});
  if (report) return document_of(request.path, *report);
  if (!is_finding(report.error())) return tl::unexpected(report.error());
  format::VerifyReport nothing;
  nothing.findings.push_back({.error = report.error()});
  return document_of(request.path, nothing);
}

Result<Json> repair_tables(const std::string& path,
                           RepairMode mode,
                           const probe::ProgressSink& progress) {
  const auto on_progress =
      read_progress(progress, {"looking for indexes in " + path, "reading steps of " + path});
  const auto report = mode == RepairMode::kWrite
                          ? write::repair(path, on_progress)
                          : format::plan_repair(path, on_progress).map([](format::RepairPlan plan) {
                              return std::move(plan.report);
                            });
  if (!report) return tl::unexpected(report.error());
  Json steps = Json::array();
  bool is_ok = report->unrepaired.empty();
  for (const RepairedStep& step : report->steps) {
    steps.push_back(to_json(step));
    is_ok = is_ok && step.outcome != RepairedStep::Outcome::kDamaged;
  }
  Json damages = Json::array();
  for (const Error& damage : report->errors)
    damages.push_back(damage_json(damage));
  return Json{{"ok", is_ok},
              {"path", path},
              {"dry_run", mode == RepairMode::kDryRun},
              {"steps", std::move(steps)},
              {"damages", std::move(damages)},
              {"rewritten", report->rewritten_paths},
              {"scanned_bytes", report->scanned_bytes}};
}

}  // namespace forebay::dataset_tool
