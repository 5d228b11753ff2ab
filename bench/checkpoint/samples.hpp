// SPDX-License-Identifier: Apache-2.0
// Results by case and candidate, one sample for each round, and what is computed from them: the
// metrics of each, and the rows of the project's goals. No file and no clock, so tests can simulate
// any outcome.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>
#include <tl/expected.hpp>

#include "bench/checkpoint/size_distribution.hpp"
#include "bench/checkpoint/trial.hpp"
#include "bench/frame/results.hpp"

namespace forebay::bench::checkpoint {

/// One case, in which all candidates are measured in the same rounds.
struct Case {
  std::string id;  ///< of the row that shows all of them
  std::uint32_t writers = 1;
  std::uint32_t readers = 0;  ///< 0: no restart
  SizeDistribution sizes = SizeDistribution::kEqual;
  ComputeKind compute_kind = ComputeKind::kNone;
  std::uint32_t steps = 1;
  Scope scope = Scope::kEverywhere;  ///< kMemory: Forebay alone, with all its strategies
};

/// The family of Forebay's candidates.
inline constexpr std::string_view kForebayFamily = "forebay";
/// The Forebay candidate with the automatic plan.
inline constexpr std::string_view kAutomaticPlan = "forebay:chosen";
/// Names of samples that are not candidates.
inline constexpr std::string_view kFio = "fio";
inline constexpr std::string_view kComputeOnly = "no checkpoint";

/// Contains no unfinished rounds: in a case, all names have the same number of samples.
class Samples {
 public:
  void add(const Case& bench_case, const std::string& name, const TrialResult& measured);
  /// Removes all samples of a failed name.
  void remove(const Case& bench_case, const std::string& name);
  /// Empty if there are none.
  const std::vector<TrialResult>& get(const std::string& case_id, std::string_view name) const;
  /// Candidates, and fio, in order.
  std::vector<std::string> names(const std::string& case_id) const;

 private:
  using ByName = std::map<std::string, std::vector<TrialResult>, std::less<>>;
  std::map<std::string, ByName, std::less<>> cases_;
};

/// MB/s (10^6 bytes) to storage for a case that writes, to the application for a restart; one for
/// each round.
std::vector<double> bandwidths(const Case& bench_case, const std::vector<TrialResult>& samples);

/// Median, low and high of each metric of one candidate, by name: {"durable_mb_s":
/// {"value","spread":[low,high]}}. A time is in seconds, a size in bytes. `alone` are the samples
/// of kComputeOnly in the same rounds, if any.
nlohmann::json metrics_json(const Case& bench_case,
                            const std::vector<TrialResult>& samples,
                            const std::vector<TrialResult>& alone);

/// The name of a family with the largest median bandwidth; none if the family has no samples.
std::optional<std::string> best_of(const Case& bench_case,
                                   const Samples& samples,
                                   std::string_view family);

/// The best candidate of a case, with all as peers; none without samples. fio is a peer, never the
/// best. The value is bandwidth; with a computation, it is the time until all is on storage / the
/// time of computing alone.
std::optional<ResultRow> row_of_case(const Case& bench_case, const Samples& samples);

/// A row of the project's goals: the best of Forebay / the baseline, in the worst of several cases.
/// A peer is the same of kAutomaticPlan alone, in its own worst case.
struct GoalRow {
  std::string id;
  std::string baseline;  ///< a family, whose best counts, or a name with its variant
  double goal = 1;
  std::vector<Case> cases;
};

/// The row, or the reason why there is none.
tl::expected<ResultRow, std::string> compare(const GoalRow& row, const Samples& samples);

}  // namespace forebay::bench::checkpoint
