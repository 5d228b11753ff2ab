// SPDX-License-Identifier: Apache-2.0
// Krylov methods with Jacobi preconditioning: conjugate gradients if the matrix is symmetric,
// restarted GMRES if not.
#pragma once

#include <cstdint>
#include <span>

#include "flow/scalar_products.hpp"
#include "flow/step_system.hpp"

namespace forebay::flow {

struct SolverOptions {
  double tolerance = 1e-8;          ///< residual / right-hand side, in the Euclidean norm
  std::uint32_t iterations = 5000;  ///< maximum number of products with the matrix
  std::uint32_t restart = 30;       ///< vectors that GMRES keeps
};

struct SolverReport {
  std::uint32_t iterations = 0;
  double relative_residual = 0;  ///< computed from the result, not the method's own estimate
  enum class Convergence : std::uint8_t {
    kConverged,
    kNotConverged
  } convergence = Convergence::kNotConverged;
};

/// Objects that the solver uses. References must outlive it.
struct SolverContext {
  StepSystem& system;
  ScalarProducts& products;
  Symmetry symmetry = Symmetry::kGeneral;
};

/// Collective. Solves the assembled equations of the system. `values` holds the initial guess, with
/// Dirichlet values set. All ranks get the same report; with kNotConverged, `values` is the last
/// iterate.
SolverReport solve(const SolverContext& context,
                   const SolverOptions& options,
                   std::span<double> values);

}  // namespace forebay::flow
