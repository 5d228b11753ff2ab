// SPDX-License-Identifier: Apache-2.0
// Paired rounds: every round runs each variant once, in changing order, and a ratio is taken within
// a round. On a shared machine absolute times drift by tens of percent within minutes; ratios of
// neighbours do not.
#pragma once

#include <forebay/error.hpp>

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/frame/statistics.hpp"

namespace forebay::bench {

/// One way of doing the same thing.
struct Variant {
  std::string name;
  /// Brings the world to where `measure` may start (drops a file from the page cache, ...). Not
  /// timed; may be absent.
  std::function<Status()> prepare;
  /// Does it once and returns what is compared: seconds, mostly, taken with a Stopwatch by the body
  /// itself.
  std::function<Result<double>()> measure;
};

/// The order of variants in a round: 0 1 | 1 0 | 1 0 | 0 1 for two of them, so that drift hits each
/// alike. Pure.
std::vector<std::size_t> order_of_round(std::size_t round, std::size_t variant_count);

/// The samples of all rounds.
class Rounds {
 public:
  explicit Rounds(std::vector<std::string> names)
      : names_(std::move(names)), values_(names_.size()) {}

  void add(std::size_t variant, double value) { values_[variant].push_back(value); }

  /// Samples of a variant, one for each round, in the order of rounds. The name must be one of
  /// them.
  const std::vector<double>& values(std::string_view name) const;
  Summary summary(std::string_view name) const { return summarise(values(name)); }
  /// Of the ratios within each round.
  Summary ratio(std::string_view over, std::string_view under) const;
  /// Of the differences within each round.
  Summary difference(std::string_view from, std::string_view what) const;

 private:
  std::vector<std::string> names_;
  std::vector<std::vector<double>> values_;  // [variant][round]
};

struct RoundOptions {
  unsigned rounds = 5;
  /// Rounds before them whose values are thrown away: first use of code, memory and files costs
  /// what no later one does.
  unsigned warm_ups = 1;
  /// Called after each measurement, with how many are done of how many.
  std::function<void(std::size_t done, std::size_t total)> on_progress;
};

/// Runs all variants in paired rounds. Stops at the first failure, which names the variant in its
/// operation.
Result<Rounds> run_rounds(const std::vector<Variant>& variants, const RoundOptions& options);

}  // namespace forebay::bench
