// SPDX-License-Identifier: Apache-2.0
// Computes rows of values: a metric at a call path, for a range of locations. Stored metrics come
// from the profile, derived ones from their expressions and, where their kind says so, from the
// values of the call paths below.
#pragma once

#include <forebay/error.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "cube/cubepl/derivation.hpp"

namespace forebay::cubepl {

/// Which row to compute.
struct OutputRow {
  std::size_t metric = 0;  ///< an index in the specification
  std::size_t callpath = 0;
  Flavour flavour = Flavour::kExclusive;  ///< not kSame
};

/// Memory for sums of whole rows, of each thread: longer rows are summed up part by part.
inline constexpr std::size_t kTreeBytesMax = std::size_t{64} << 20U;

/// One for each thread.
class Evaluator final : private MetricValues {
 public:
  /// Both must outlive the evaluator. `profile` is asked for rows by the calling thread only.
  Evaluator(const Derivation& derivation, ProfileView& profile);
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;
  ~Evaluator() override = default;

  /// Writes the values at `locations` to `values`, which has as many elements. The time is that of
  /// one evaluation, or, for the inclusive values of a PREDERIVED_EXCLUSIVE metric, of one for each
  /// call path below, each of whose rows are forgotten before the next; their sums take a row for
  /// each level of the call tree, kTreeBytesMax at most. The Error is the profile's, or names the
  /// place in a script; then `values` may have been written in part.
  Status evaluate(const OutputRow& which, LocationRange locations, std::span<double> values);

 private:
  /// A row that was asked for in the present call of evaluate().
  struct KnownRow {
    InputRow which;
    std::span<const double> values;
  };
  /// A sum over all locations, as long as the call path stays.
  struct KnownSum {
    InputRow which;  // with the program's number of the metric
    double sum;
  };
  /// A call path on the way down, and what was put together so far.
  struct Level {
    std::size_t callpath;
    std::size_t next_child;
    Lanes total;
  };

  /// Sums of one call of evaluate(): a call path on the way down, and the totals so far.
  struct RowLevel {
    std::size_t callpath;
    std::size_t next_child;
    std::vector<double> totals;
  };

  Budget budget_of_value() const;
  bool adds_up_below(const OutputRow& which) const;
  std::size_t levels_below(std::size_t callpath) const;
  void evaluate_below(const OutputRow& which, LocationRange block, std::span<double> values);
  RowLevel own_row(const OutputRow& which, LocationRange block, std::size_t callpath);
  void add_row(const OutputRow& which,
               LocationRange block,
               std::span<const double> right,
               std::span<double> left);

  void evaluate_own(const OutputRow& which, LocationRange locations, std::span<double> values);
  /// Fills `values`, which has as many elements, with what `compute` gives for pieces of
  /// `locations`.
  template <class Compute>
  void fill_pieces(const OutputRow& which,
                   LocationRange locations,
                   std::span<double> values,
                   const Compute& compute);
  /// Fills `values` with what `compute` gives for `place`, which has as many locations.
  template <class Compute>
  void fill_piece(const Place& place, std::span<double> values, const Compute& compute);
  Lanes value(const Place& place) override;
  double sum(const Node& reference, const Place& place) override;

  Lanes stored(const Place& place);
  std::span<const double> row(const InputRow& which);
  Lanes run(const Code& code, const Place& place, Arguments arguments = {});
  Lanes run_alone(const Code& code, const Place& place, Arguments arguments);
  Lanes all_below(const Place& place);
  Lanes without_children(const Place& place);
  Lanes combined(const Place& place, Op op, Lanes left, Lanes right);
  double sum_of_locations(const Place& place);
  double sum_of_all(const Place& place);

  const Derivation& derivation_;
  ProfileView& profile_;
  PatternMemory patterns_;
  Scratch scratch_;
  Machine machine_;
  std::vector<KnownRow> rows_;
  std::vector<KnownSum> sums_;
  std::vector<std::optional<double>> totals_;    // of a metric over everything
  std::vector<std::vector<double>> spare_rows_;  // fresh memory would cost as much as the sums
};

}  // namespace forebay::cubepl
