// SPDX-License-Identifier: Apache-2.0
// Time of a run, phase by phase.
#pragma once

#include <chrono>

namespace forebay::flow {

/// Times of one rank. Phases do not overlap, except solve_s, which contains product, exchange and
/// sums.
struct PhaseTimes {
  double assembly_s = 0;    ///< forming matrices and loads
  double product_s = 0;     ///< matrix times vector, without waiting
  double exchange_s = 0;    ///< packing, awaiting and adding contributions to shared nodes
  double sums_s = 0;        ///< scalar products, including waiting for other ranks
  double solve_s = 0;       ///< the whole solver
  double checkpoint_s = 0;  ///< blocked by storage
};

/// Adds its lifetime to a phase.
class PhaseTimer {
 public:
  explicit PhaseTimer(double& phase_s) : phase_s_(phase_s), start_(Clock::now()) {}
  PhaseTimer(const PhaseTimer&) = delete;
  PhaseTimer& operator=(const PhaseTimer&) = delete;
  ~PhaseTimer() { phase_s_ += std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  double& phase_s_;
  Clock::time_point start_;
};

}  // namespace forebay::flow
