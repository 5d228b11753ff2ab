// SPDX-License-Identifier: Apache-2.0
// The two methods that solve() chooses from. Each goes from a residual towards a small one; whether
// it is there is decided by solve(), from the true residual.
#pragma once

#include <cstdint>
#include <span>

#include "flow/solver.hpp"

namespace forebay::flow {

struct KrylovGoal {
  double residual = 0;           ///< stop where the method's estimate is not above
  std::uint32_t iterations = 0;  ///< or after so many
};

/// Both: collective; `residual` is that of `values` and is overwritten; 1 iteration at least. They
/// give back how many they made.
std::uint32_t improve_by_cg(const SolverTools& tools,
                            KrylovGoal goal,
                            std::span<double> residual,
                            std::span<double> values);

/// One cycle: goal.iterations is also the number of vectors kept.
std::uint32_t improve_by_gmres(const SolverTools& tools,
                               KrylovGoal goal,
                               std::span<const double> residual,
                               std::span<double> values);

}  // namespace forebay::flow
