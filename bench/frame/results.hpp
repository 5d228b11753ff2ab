// SPDX-License-Identifier: Apache-2.0
// The results of a benchmark and the one JSON form in which they leave it. The form is fixed:
// tables, plots and comparisons over years read it.
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

/// What a result should reach. Printed and compared, never a reason to fail.
struct Goal {
  double value = 0;
  Better better = Better::kLower;
};

/// What others reach at the same task in the same run: shown beside a result.
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

/// True if the median reaches the goal.
bool meets(const Summary& measured, const Goal& goal) noexcept;

/// {"id","value","unit","spread":[low,high],"spread_kind","runs","goal","better","met",
/// "peers":{name: {"value","unit","spread","spread_kind","runs"}}}; goal, better and met are null
/// where there is no goal.
nlohmann::json to_json(const ResultRow& row);

/// Everything that a run says.
struct Report {
  std::string benchmark;
  nlohmann::json parameters = nlohmann::json::object();
  nlohmann::json machine = nlohmann::json::object();
  std::vector<ResultRow> rows;
  std::map<std::string, std::string> left_out = {};  ///< by id: why it has no row here
};

/// {"benchmark","version","parameters","machine","results":[...],"left_out":{id: why}}; version is
/// Forebay's.
nlohmann::json to_json(const Report& report);

}  // namespace forebay::bench
