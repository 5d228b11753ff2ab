// SPDX-License-Identifier: Apache-2.0
#include "flow/solver.hpp"

#include <algorithm>
#include <cmath>

#include "flow/krylov.hpp"

namespace forebay::flow {

namespace {

double norm(const SolverTools& tools, std::span<const double> vector) {
  return std::sqrt(tools.products.of(vector, vector));
}

/// The right-hand side of the equations for the free nodes.
double norm_of_right_side(const SolverTools& tools, std::span<double> scratch, Vector given) {
  std::ranges::fill(given, 0.0);
  tools.system.fix(given);
  tools.system.residual(given, scratch);
  return norm(tools, scratch);
}

}  // namespace

SolverReport solve(const SolverTools& tools,
                   const SolverOptions& options,
                   std::span<double> values) {
  Vector residual(values.size());
  const double reference = norm_of_right_side(tools, residual, Vector(values.size()));
  const double goal = options.tolerance * reference;
  SolverReport report;
  while (true) {
    tools.system.residual(values, residual);
    const double left = norm(tools, residual);
    report.relative_residual = reference > 0 ? left / reference : left;
    if (left <= goal) report.outcome = SolverReport::Outcome::kSolved;
    const bool is_hopeless = !std::isfinite(left) || report.iterations >= options.iterations;
    if (left <= goal || is_hopeless) return report;
    const std::uint32_t rest = options.iterations - report.iterations;
    if (tools.symmetry == Symmetry::kSymmetric) {
      report.iterations += improve_by_cg(tools, {goal, rest}, residual, values);
    } else {
      const KrylovGoal cycle{goal, std::min(options.restart, rest)};
      report.iterations += improve_by_gmres(tools, cycle, residual, values);
    }
  }
}

}  // namespace forebay::flow
