// SPDX-License-Identifier: Apache-2.0
// The linear equations of one step: a matrix for each part, formed from its own elements alone, and
// products with the sum of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "flow/element.hpp"
#include "flow/halo_sum.hpp"
#include "flow/part_set.hpp"
#include "flow/phase_times.hpp"
#include "flow/problem.hpp"
#include "flow/solver_comm.hpp"
#include "flow/sparse_matrix.hpp"

namespace forebay::flow {

/// Vectors hold equal values in all copies of a shared node, before and after each call. All calls
/// but apply_dirichlet() and the accessors are collective. References must outlive it.
class StepSystem {
 public:
  StepSystem(const PartSet& set, SolverComm& comm, const Problem& problem, PhaseTimes& times);

  /// Forms matrices and load of the step from `before`.
  void assemble(TimeStep step, std::span<const double> before);

  /// Sets the given values, those of the time of assemble().
  void apply_dirichlet(std::span<double> values) const;

  /// out = A in, all rows. `out` and `in` do not overlap.
  void multiply(std::span<const double> in, std::span<double> out);
  /// As multiply(), for the free nodes: `out` is 0 where a value is given. `in` must be 0 there.
  void multiply_free(std::span<const double> in, std::span<double> out);
  /// out = load - A values at free nodes, 0 elsewhere.
  void residual(std::span<const double> values, std::span<double> out);

  /// Factors of Jacobi preconditioning; 1 where a value is given.
  std::span<const double> inverse_diagonal() const noexcept { return inverse_diagonal_; }

  /// Contribution of the i-th part to the matrix.
  const SparseMatrix& matrix(std::size_t i) const { return matrices_[i]; }
  std::span<const double> load() const noexcept { return load_; }
  /// Indexes in a vector where a value is given.
  std::span<const std::size_t> dirichlet_nodes() const noexcept { return dirichlet_nodes_; }

 private:
  void assemble_part(std::size_t i, TimeStep step, std::span<const double> before);
  void invert_diagonal();

  const PartSet& set_;
  const Problem& problem_;
  PhaseTimes& times_;
  HaloSum halo_sum_;
  std::vector<SparseMatrix> matrices_;
  std::vector<std::size_t> dirichlet_nodes_;
  std::vector<double> dirichlet_values_;
  Vector load_;
  Vector inverse_diagonal_;
};

}  // namespace forebay::flow
