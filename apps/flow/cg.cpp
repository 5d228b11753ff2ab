// SPDX-License-Identifier: Apache-2.0
// Conjugate gradients, for matrices that are symmetric and positive: three vectors, two exchanges
// of sums in each iteration.
#include <array>
#include <cmath>

#include "flow/krylov.hpp"

namespace forebay::flow {

namespace {

/// out = a * out + b * in
void combine(double a, std::span<double> out, double b, std::span<const double> in) {
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = a * out[i] + b * in[i];
}

struct Norms {
  double preconditioned = 0;  ///< r . M r
  double square = 0;          ///< r . r
};

/// Sets z = M r.
Norms precondition(const SolverTools& tools, std::span<const double> r, std::span<double> z) {
  const std::span<const double> inverse = tools.system.inverse_diagonal();
  for (std::size_t i = 0; i < z.size(); ++i)
    z[i] = inverse[i] * r[i];
  const std::array<VectorPair, 2> pairs{VectorPair{r, z}, VectorPair{r, r}};
  const std::vector<double> products = tools.products.of(pairs);
  return {products[0], products[1]};
}

}  // namespace

std::uint32_t improve_by_cg(const SolverTools& tools,
                            KrylovGoal goal,
                            std::span<double> residual,
                            std::span<double> values) {
  Vector z(values.size());
  Norms norms = precondition(tools, residual, z);
  Vector direction = z;
  Vector product(values.size());
  for (std::uint32_t done = 0; done < goal.iterations;) {
    tools.system.multiply_free(direction, product);
    const double length = norms.preconditioned / tools.products.of(direction, product);
    ++done;
    if (!std::isfinite(length)) return done;
    combine(1, values, length, direction);
    combine(1, residual, -length, product);
    const double before = norms.preconditioned;
    norms = precondition(tools, residual, z);
    if (!(std::sqrt(norms.square) > goal.residual)) return done;
    combine(norms.preconditioned / before, direction, 1, z);
  }
  return goal.iterations;
}

}  // namespace forebay::flow
