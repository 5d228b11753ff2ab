// SPDX-License-Identifier: Apache-2.0
// Krylov methods with Jacobi preconditioning: conjugate gradients where the matrix is symmetric,
// restarted GMRES where it is not.
#pragma once

#include <cstdint>
#include <span>

#include "flow/scalar_products.hpp"
#include "flow/step_system.hpp"

namespace forebay::flow {

struct SolverOptions {
  double tolerance = 1e-8;          ///< residual / right-hand side, in the Euclidean norm
  std::uint32_t iterations = 5000;  ///< products with the matrix, at most
  std::uint32_t restart = 30;       ///< vectors that GMRES keeps
};

struct SolverReport {
  std::uint32_t iterations = 0;
  double relative_residual = 0;  ///< computed from the result, not the method's own estimate
  enum class Outcome : std::uint8_t { kSolved, kNotSolved } outcome = Outcome::kNotSolved;
};

/// What a solver works with. References must outlive it.
struct SolverTools {
  StepSystem& system;
  ScalarProducts& products;
  Symmetry symmetry = Symmetry::kGeneral;
};

/// Collective. Solves the equations of the system, which has been formed, from the guess in
/// `values`, which holds the given values already. All ranks get the same report; where it says
/// kNotSolved, `values` is the last iterate.
SolverReport solve(const SolverTools& tools,
                   const SolverOptions& options,
                   std::span<double> values);

}  // namespace forebay::flow
