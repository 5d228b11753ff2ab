// SPDX-License-Identifier: Apache-2.0
// Computes rows of values: a metric at a call path, for a range of locations. Stored metrics come
// from the profile. Derived metrics are computed from their expressions and, depending on their
// kind, from the values of the call paths below.
#pragma once

#include <forebay/error.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "cube/cubepl/bound_program.hpp"

namespace forebay::cubepl {

/// The row to compute.
struct OutputRow {
  std::size_t metric = 0;  ///< index in the specification
  std::size_t callpath = 0;
  Flavor flavor = Flavor::kExclusive;  ///< never kSame
};

/// Memory for sums of whole rows, per thread; longer rows are summed in parts.
inline constexpr std::size_t kTreeBytesMax = std::size_t{64} << 20U;

/// For one thread.
class Evaluator final : private MetricValues {
 public:
  /// Both arguments must outlive the object. It calls `profile` on the calling thread only.
  Evaluator(const BoundProgram& bound_program, ProfileView& profile);
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;
  ~Evaluator() override = default;

  /// Writes the values at `locations` to `values`, which has as many elements. The time is
  /// that of one evaluation. For inclusive values of a PREDERIVED_EXCLUSIVE metric, it is that of
  /// one for each call path below; the rows of each are released before the next. Their sums take a
  /// row for each level of the call tree, at most kTreeBytesMax. The Error is that of the profile,
  /// or names the position in a script; `values` may be partly written then.
  Status evaluate(const OutputRow& key, LocationRange locations, std::span<double> values);

 private:
  /// A row that was read in the current call of evaluate().
  struct CachedRow {
    InputRow key;
    std::span<const double> values;
  };
  /// A sum over all locations, valid for one call path.
  struct CachedSum {
    InputRow key;  // metric: its number in the program
    double sum;
  };
  /// A call path on the current path down the tree, and its intermediate total.
  struct Level {
    std::size_t callpath;
    std::size_t next_child;
    Lanes total;
  };

  /// Sums of one call of evaluate(): a call path on the current path down, and its totals.
  struct RowLevel {
    std::size_t callpath;
    std::size_t next_child;
    std::vector<double> totals;
  };

  StepBudget budget_of_value() const;
  bool is_subtree_sum(const OutputRow& key) const;
  std::size_t subtree_depth(std::size_t callpath) const;
  void evaluate_subtree(const OutputRow& key, LocationRange block, std::span<double> values);
  RowLevel exclusive_row(const OutputRow& key, LocationRange block, std::size_t callpath);
  void add_row(const OutputRow& key,
               LocationRange block,
               std::span<const double> right,
               std::span<double> left);

  void evaluate_call_path(const OutputRow& key, LocationRange locations, std::span<double> values);
  /// Fills `values`, which has as many elements, with the results of `compute` for blocks of
  /// `locations`.
  template <class Compute>
  void fill_blocks(const OutputRow& key,
                   LocationRange locations,
                   std::span<double> values,
                   const Compute& compute);
  /// Fills `values` with the result of `compute` for `context`, which has as many locations.
  template <class Compute>
  void fill_block(const EvalContext& context, std::span<double> values, const Compute& compute);
  Lanes value(const EvalContext& context) override;
  double sum(const Node& reference, const EvalContext& context) override;

  Lanes stored(const EvalContext& context);
  std::span<const double> row(const InputRow& key);
  Lanes run(const CompiledScript& code, const EvalContext& context, Operands arguments = {});
  Lanes run_per_location(const CompiledScript& code,
                         const EvalContext& context,
                         Operands arguments);
  Lanes sum_subtree(const EvalContext& context);
  Lanes subtract_children(const EvalContext& context);
  Lanes combine(const EvalContext& context, Op op, Lanes left, Lanes right);
  double sum_of_locations(const EvalContext& context);
  double sum_of_all(const EvalContext& context);

  const BoundProgram& bound_program_;
  ProfileView& profile_;
  PatternCache patterns_;
  Scratch scratch_;
  InterpreterState state_;
  std::vector<CachedRow> rows_;
  std::vector<CachedSum> sums_;
  std::vector<std::optional<double>> totals_;   // of a metric over all call paths and locations
  std::vector<std::vector<double>> free_rows_;  // reused: allocation costs as much as the sums
};

}  // namespace forebay::cubepl
