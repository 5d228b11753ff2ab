// SPDX-License-Identifier: Apache-2.0
// Results as JSON, in the form that results.hpp defines.
#include "bench/frame/results.hpp"

#include <algorithm>

namespace forebay::bench {
namespace {

nlohmann::json measured_json(const Summary& measured, const std::string& unit) {
  return {{"value", measured.median},
          {"unit", unit},
          {"spread", {measured.low, measured.high}},
          {"spread_kind", name_of(measured.spread)},
          {"runs", measured.runs}};
}

void add_goal(nlohmann::json& row, const Summary& measured, const std::optional<Goal>& goal) {
  row["goal"] = nullptr;
  row["better"] = nullptr;
  row["met"] = nullptr;
  if (!goal) return;
  row["goal"] = goal->value;
  row["better"] = goal->better == Better::kLower ? "lower" : "higher";
  row["met"] = is_goal_met(measured, *goal);
}

}  // namespace

Summary worst_of(const std::vector<Summary>& summaries, Better better) {
  const auto [low, high] = std::ranges::minmax_element(summaries, {}, &Summary::median);
  return better == Better::kHigher ? *low : *high;
}

bool is_goal_met(const Summary& measured, const Goal& goal) noexcept {
  return goal.better == Better::kLower ? measured.median <= goal.value
                                       : measured.median >= goal.value;
}

nlohmann::json to_json(const ResultRow& row) {
  nlohmann::json json = measured_json(row.measured, row.unit);
  json["id"] = row.id;
  add_goal(json, row.measured, row.goal);
  json["peers"] = nlohmann::json::object();
  for (const Peer& peer : row.peers) {
    json["peers"][peer.name] = measured_json(peer.measured, peer.unit);
  }
  return json;
}

nlohmann::json to_json(const Report& report) {
  auto results = nlohmann::json::array();
  for (const ResultRow& row : report.rows)
    results.push_back(to_json(row));
  return {{"benchmark", report.benchmark},   {"version", FOREBAY_VERSION},
          {"parameters", report.parameters}, {"machine", report.machine},
          {"results", std::move(results)},   {"skipped", nlohmann::json(report.skipped)}};
}

}  // namespace forebay::bench
