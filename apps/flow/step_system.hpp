// SPDX-License-Identifier: Apache-2.0
// The linear equations of one step: a matrix for each part, formed from its own elements alone, and
// products with all of them together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "flow/element.hpp"
#include "flow/part_set.hpp"
#include "flow/phase_times.hpp"
#include "flow/problem.hpp"
#include "flow/shared_sums.hpp"
#include "flow/sparse_matrix.hpp"
#include "flow/team.hpp"

namespace forebay::flow {

/// Vectors hold equal values in all copies of a shared node, before and after each call. All calls
/// but fix() and the accessors are collective. References must outlive it.
class StepSystem {
 public:
  StepSystem(const PartSet& set, Team& team, const Problem& problem, PhaseTimes& times);

  /// Forms matrices and load of the step from `before`.
  void form(StepFacts step, std::span<const double> before);

  /// Sets the nodes whose value is given, at the time of form().
  void fix(std::span<double> values) const;

  /// out = A in, all rows. `out` is another vector.
  void multiply(std::span<const double> in, std::span<double> out);
  /// The same for the free nodes: 0 where a value is given. `in` is 0 there.
  void multiply_free(std::span<const double> in, std::span<double> out);
  /// out = load - A values at free nodes, 0 elsewhere.
  void residual(std::span<const double> values, std::span<double> out);

  /// What Jacobi preconditioning multiplies by; 1 where a value is given.
  std::span<const double> inverse_diagonal() const noexcept { return inverse_diagonal_; }

  /// What the i-th part adds to the matrix.
  const SparseMatrix& matrix(std::size_t i) const { return matrices_[i]; }
  std::span<const double> load() const noexcept { return load_; }
  /// Places in a vector whose value is given.
  std::span<const std::size_t> fixed() const noexcept { return fixed_; }

 private:
  void form_part(std::size_t i, StepFacts step, std::span<const double> before);
  void invert_diagonal();

  const PartSet& set_;
  const Problem& problem_;
  PhaseTimes& times_;
  SharedSums shared_;
  std::vector<SparseMatrix> matrices_;
  std::vector<std::size_t> fixed_;
  std::vector<double> fixed_values_;
  Vector load_;
  Vector inverse_diagonal_;
};

}  // namespace forebay::flow
