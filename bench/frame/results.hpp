// SPDX-License-Identifier: Apache-2.0
// The results of a benchmark and their JSON form. The form is fixed: tables, plots and comparisons
// over years read it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "bench/frame/statistics.hpp"

namespace forebay::bench {

enum class Better : std::uint8_t { kLower, kHigher };

/// Target of a result. Printed and compared; missing it is not a failure.
struct Goal {
  double value = 0;
  Better better = Better::kLower;
};

/// What another program reaches at the same task in the same run: shown beside a result.
struct Peer {
  std::string name;
  std::string unit;
  Summary measured;
};

/// One line of the table. `unit` is "1" for a ratio.
struct ResultRow {
  std::string id;
  std::string unit;
  Summary measured;
  std::optional<Goal> goal;
  std::vector<Peer> peers;
};

/// The summary with the worst median. At least one.
Summary worst_of(const std::vector<Summary>& summaries, Better better);

/// True if the median reaches the goal.
bool is_goal_met(const Summary& measured, const Goal& goal) noexcept;

/// {"id","value","unit","spread":[low,high],"spread_kind","runs","goal","better","met",
/// "peers":{name: {"value","unit","spread","spread_kind","runs"}}}; goal, better and met are null
/// without a goal.
nlohmann::json to_json(const ResultRow& row);

/// The output of a run.
struct Report {
  std::string benchmark;
  nlohmann::json parameters = nlohmann::json::object();
  nlohmann::json machine = nlohmann::json::object();
  std::vector<ResultRow> rows;
  std::map<std::string, std::string> skipped = {};  ///< by id: the reason why it has no row
};

/// {"benchmark","version","parameters","machine","results":[...],"skipped":{id: reason}}; version
/// is Forebay's.
nlohmann::json to_json(const Report& report);

}  // namespace forebay::bench
