// SPDX-License-Identifier: Apache-2.0
// Paired rounds: every round runs each variant once, in alternating order, and ratios are taken
// within a round. On a shared machine absolute times drift by tens of percent within minutes;
// ratios within a round do not.
#pragma once

#include <forebay/error.hpp>

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/frame/statistics.hpp"

namespace forebay::bench {

/// One way to do a task.
struct Variant {
  std::string name;
  /// Brings the system to the state in which `measure` may start (drops a file from the page cache,
  /// ...). Not timed; may be absent.
  std::function<Status()> prepare;
  /// Does the task once and returns the compared value: mostly seconds, timed with a Stopwatch
  /// inside. It and `prepare` return an Error, or throw it (check.hpp).
  std::function<Result<double>()> measure;
};

/// The order of variants in a round: 0 1 | 1 0 | 1 0 | 0 1 for two of them, so that drift affects
/// each alike. Pure.
std::vector<std::size_t> order_of_round(std::size_t round, std::size_t variant_count);

/// The samples of all rounds.
class Rounds {
 public:
  explicit Rounds(std::vector<std::string> names)
      : names_(std::move(names)), values_(names_.size()) {}

  void add(std::size_t variant, double value) { values_[variant].push_back(value); }

  /// Samples of a variant, one for each round, in the order of rounds. `name` must be a variant's.
  const std::vector<double>& values(std::string_view name) const;
  Summary summary(std::string_view name) const { return summarize(values(name)); }
  /// Summary of the ratios within each round.
  Summary ratio(std::string_view over, std::string_view under) const;
  /// Summary of the differences within each round.
  Summary difference(std::string_view from, std::string_view what) const;

 private:
  std::vector<std::string> names_;
  std::vector<std::vector<double>> values_;  // [variant][round]
};

/// The value of a row, from the samples of all variants.
using RoundValue = std::function<Summary(const Rounds&)>;
RoundValue value_of(std::string variant);
RoundValue ratio_of(std::string over, std::string under);
RoundValue difference_of(std::string from, std::string what);

struct RoundOptions {
  unsigned rounds = 5;
  /// Discarded rounds before the others: the first use of code, memory and files has one-time
  /// costs.
  unsigned warm_ups = 1;
  /// Called after each measurement, with the number done and the total.
  std::function<void(std::size_t done, std::size_t total)> on_progress;
};

/// Runs all variants in paired rounds. Stops at the first failure, whose operation includes the
/// variant's name.
Result<Rounds> run_rounds(const std::vector<Variant>& variants, const RoundOptions& options);

}  // namespace forebay::bench
