// SPDX-License-Identifier: Apache-2.0
#include "flow/solver.hpp"

#include <algorithm>
#include <cmath>

#include "flow/krylov.hpp"

namespace forebay::flow {

namespace {

double norm(const SolverContext& context, std::span<const double> vector) {
  return std::sqrt(context.products.compute(vector, vector));
}

/// Norm of the right-hand side of the equations for the free nodes.
double rhs_norm(const SolverContext& context, std::span<double> scratch, Vector given) {
  std::ranges::fill(given, 0.0);
  context.system.apply_dirichlet(given);
  context.system.residual(given, scratch);
  return norm(context, scratch);
}

}  // namespace

SolverReport solve(const SolverContext& context,
                   const SolverOptions& options,
                   std::span<double> values) {
  Vector residual(values.size());
  const double reference = rhs_norm(context, residual, Vector(values.size()));
  const double goal = options.tolerance * reference;
  SolverReport report;
  while (true) {
    context.system.residual(values, residual);
    const double residual_norm = norm(context, residual);
    report.relative_residual = reference > 0 ? residual_norm / reference : residual_norm;
    if (residual_norm <= goal) report.convergence = SolverReport::Convergence::kConverged;
    const bool is_hopeless =
        !std::isfinite(residual_norm) || report.iterations >= options.iterations;
    if (residual_norm <= goal || is_hopeless) return report;
    const std::uint32_t rest = options.iterations - report.iterations;
    if (context.symmetry == Symmetry::kSymmetric) {
      report.iterations += run_cg(context, {goal, rest}, residual, values);
    } else {
      const StoppingCriteria cycle{goal, std::min(options.restart, rest)};
      report.iterations += run_gmres_cycle(context, cycle, residual, values);
    }
  }
}

}  // namespace forebay::flow
