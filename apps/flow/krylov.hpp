// SPDX-License-Identifier: Apache-2.0
// The two methods of solve(). Each reduces a residual. solve() decides about convergence, from the
// true residual.
#pragma once

#include <cstdint>
#include <span>

#include "flow/solver.hpp"

namespace forebay::flow {

struct StoppingCriteria {
  double residual = 0;           ///< stop when the method's estimate is not above this
  std::uint32_t iterations = 0;  ///< maximum number of iterations
};

/// Collective, as is run_gmres_cycle(). `residual` is that of `values`, and is overwritten here.
/// Requires at least 1 iteration. Both return the number of iterations made.
std::uint32_t run_cg(const SolverContext& context,
                     StoppingCriteria criteria,
                     std::span<double> residual,
                     std::span<double> values);

/// One cycle: criteria.iterations is also the maximum number of vectors kept.
std::uint32_t run_gmres_cycle(const SolverContext& context,
                              StoppingCriteria criteria,
                              std::span<const double> residual,
                              std::span<double> values);

}  // namespace forebay::flow
