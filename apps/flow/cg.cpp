// SPDX-License-Identifier: Apache-2.0
// Conjugate gradients, for symmetric positive definite matrices: three vectors, two collective sums
// in each iteration.
#include <array>
#include <cmath>

#include "flow/krylov.hpp"

namespace forebay::flow {

namespace {

/// out = a * out + b * in
void axpby(double a, std::span<double> out, double b, std::span<const double> in) {
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = a * out[i] + b * in[i];
}

struct Norms {
  double preconditioned = 0;  ///< r . M r
  double square = 0;          ///< r . r
};

/// Sets z = M r.
Norms precondition(const SolverContext& context, std::span<const double> r, std::span<double> z) {
  const std::span<const double> inverse = context.system.inverse_diagonal();
  for (std::size_t i = 0; i < z.size(); ++i)
    z[i] = inverse[i] * r[i];
  const std::array<VectorPair, 2> pairs{VectorPair{r, z}, VectorPair{r, r}};
  const std::vector<double> products = context.products.compute(pairs);
  return {products[0], products[1]};
}

}  // namespace

std::uint32_t run_cg(const SolverContext& context,
                     StoppingCriteria criteria,
                     std::span<double> residual,
                     std::span<double> values) {
  Vector z(values.size());
  Norms norms = precondition(context, residual, z);
  Vector direction = z;
  Vector product(values.size());
  for (std::uint32_t done = 0; done < criteria.iterations;) {
    context.system.multiply_free(direction, product);
    const double length = norms.preconditioned / context.products.compute(direction, product);
    ++done;
    if (!std::isfinite(length)) return done;
    axpby(1, values, length, direction);
    axpby(1, residual, -length, product);
    const double before = norms.preconditioned;
    norms = precondition(context, residual, z);
    if (!(std::sqrt(norms.square) > criteria.residual)) return done;
    axpby(norms.preconditioned / before, direction, 1, z);
  }
  return criteria.iterations;
}

}  // namespace forebay::flow
