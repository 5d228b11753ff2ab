// SPDX-License-Identifier: Apache-2.0
// The solver, step by step. Between two steps a rank keeps vectors and the number of steps.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <memory>
#include <span>

#include "flow/part_set.hpp"
#include "flow/phase_times.hpp"
#include "flow/problem.hpp"
#include "flow/scalar_products.hpp"
#include "flow/solver.hpp"
#include "flow/solver_comm.hpp"
#include "flow/step_system.hpp"

namespace forebay::flow {

struct SimulationOptions {
  double step_length = 0.05;
  SolverOptions solver;
  /// Running means that are kept at each node, over 2, 3, 4 ... steps, as solvers keep them for the
  /// statistics of a flow.
  std::uint32_t averages = 0;
};

/// All calls but accessors are collective, and their results are the same on all ranks. References
/// must outlive it.
class Simulation {
 public:
  Simulation(const PartSet& set,
             SolverComm& comm,
             const Problem& problem,
             const SimulationOptions& options);

  /// Computes the next step. kLimit if the solver does not reach its tolerance; the state is then
  /// that before the step.
  Result<SolverReport> advance();

  /// Restores the state: former values of steps_done(), values() and averages().
  void restore(std::uint64_t steps_done,
               std::span<const double> values,
               std::span<const double> averages = {});

  std::uint64_t steps_done() const noexcept { return steps_done_; }
  double time() const noexcept { return static_cast<double>(steps_done_) * options_.step_length; }
  std::span<const double> values() const noexcept { return values_; }
  /// SimulationOptions::averages values for each node, consecutively.
  std::span<const double> averages() const noexcept { return averages_; }
  PhaseTimes& times() noexcept { return times_; }
  StepSystem& system() noexcept { return system_; }

 private:
  void update_averages();

  const Problem& problem_;
  SimulationOptions options_;
  PhaseTimes times_;
  StepSystem system_;
  ScalarProducts products_;
  std::uint64_t steps_done_ = 0;
  Vector values_;
  Vector averages_;
};

}  // namespace forebay::flow
