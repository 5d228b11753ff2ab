// SPDX-License-Identifier: Apache-2.0
// What was measured, by case and contender, one sample for each round; and what follows from it:
// the metrics of each, and the rows whose goals the project set itself. No file and no clock, so
// that tests can play any outcome.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>
#include <tl/expected.hpp>

#include "bench/checkpoint/sizes.hpp"
#include "bench/checkpoint/trial.hpp"
#include "bench/frame/results.hpp"

namespace forebay::bench::checkpoint {

/// One situation in which all contenders are measured in the same rounds.
struct Case {
  std::string id;  ///< of the row that shows all of them
  std::uint32_t writers = 1;
  std::uint32_t readers = 0;  ///< 0: nothing is read
  Sizes sizes = Sizes::kEqual;
  Computing computing = Computing::kNone;
  std::uint32_t steps = 1;
  Scope scope = Scope::kEverywhere;  ///< kMemory: Forebay alone, with all its strategies
};

/// The family of Forebay's contenders.
inline constexpr std::string_view kOurs = "forebay";
/// That of them which is as a plan is by itself.
inline constexpr std::string_view kChosenByPlan = "forebay:chosen";
/// Names of samples that are no contender's.
inline constexpr std::string_view kFio = "fio";
inline constexpr std::string_view kComputingAlone = "no checkpoint";

/// Rounds that a contender did not end are not in it: all that is here has as many samples in a
/// case.
class Samples {
 public:
  void add(const Case& in, const std::string& name, const Measured& measured);
  /// Takes back all of one that failed.
  void forget(const Case& in, const std::string& name);
  /// Empty where there are none.
  const std::vector<Measured>& of(const std::string& case_id, std::string_view name) const;
  /// Contenders, and fio, in order.
  std::vector<std::string> names(const std::string& case_id) const;

 private:
  using ByName = std::map<std::string, std::vector<Measured>, std::less<>>;
  std::map<std::string, ByName, std::less<>> cases_;
};

/// MB/s (10^6 bytes) to storage for a case that writes, to the application for a restart; one for
/// each round.
std::vector<double> bandwidths(const Case& in, const std::vector<Measured>& samples);

/// Median, low and high of each metric of one contender, by name: {"durable_mb_s":
/// {"value","spread":[low,high]}}. A time is in seconds, a size in bytes. `alone` are the samples
/// of kComputingAlone in the same rounds, if any.
nlohmann::json metrics_json(const Case& in,
                            const std::vector<Measured>& samples,
                            const std::vector<Measured>& alone);

/// The name whose bandwidth has the largest median among those of a family; none if there is none.
std::optional<std::string> best_of(const Case& in, const Samples& samples, std::string_view family);

/// The best contender of a case, with all as peers; none if nobody was measured. fio is a peer,
/// never the best. The value is bandwidth; where something computes, the time until all is on
/// storage over that of computing alone.
std::optional<ResultRow> row_of_case(const Case& in, const Samples& samples);

/// A row of the project's goals: the best of Forebay over somebody, in the worst of several cases.
/// Beside it is the same of kChosenByPlan alone, in its own worst case.
struct GoalRow {
  std::string id;
  std::string over;  ///< a family, whose best counts, or a name with its variant
  double goal = 1;
  std::vector<Case> cases;
};

/// The row, or why there is none.
tl::expected<ResultRow, std::string> compare(const GoalRow& row, const Samples& samples);

}  // namespace forebay::bench::checkpoint
