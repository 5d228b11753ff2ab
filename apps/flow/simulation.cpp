// SPDX-License-Identifier: Apache-2.0
#include "flow/simulation.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace forebay::flow {

Simulation::Simulation(const PartSet& set,
                       SolverComm& comm,
                       const Problem& problem,
                       const SimulationOptions& options)
    : problem_(problem),
      options_(options),
      system_(set, comm, problem, times_),
      products_(set, comm, times_) {
  for (const MeshPart& part : set.parts()) {
    for (const Point& place : part.coordinates)
      values_.push_back(problem.initial_value(place));
  }
  averages_.resize(values_.size() * options.averages);
}

Result<SolverReport> Simulation::advance() {
  const double time = static_cast<double>(steps_done_ + 1) * options_.step_length;
  system_.assemble({time, options_.step_length}, values_);
  const PhaseTimer timer(times_.solve_s);
  Vector next = values_;
  system_.apply_dirichlet(next);
  const SolverReport report =
      solve({system_, products_, problem_.symmetry()}, options_.solver, next);
  if (report.convergence == SolverReport::Convergence::kNotConverged) {
    return failure(
        {.kind = ErrorClass::kLimit,
         .operation = "solve",
         .cause = fmt::format("step {} has a relative residual of {:.3g} after {} "
                              "iterations; use shorter steps or allow more iterations",
                              steps_done_ + 1, report.relative_residual, report.iterations)});
  }
  values_ = std::move(next);
  ++steps_done_;
  update_averages();
  return report;
}

void Simulation::update_averages() {
  const std::size_t width = options_.averages;
  for (std::size_t node = 0; node < values_.size(); ++node) {
    const std::span local = std::span(averages_).subspan(node * width, width);
    double steps = 2;
    for (double& average : local) {
      average += (values_[node] - average) / steps;
      steps += 1;
    }
  }
}

void Simulation::restore(std::uint64_t steps_done,
                         std::span<const double> values,
                         std::span<const double> averages) {
  steps_done_ = steps_done;
  std::ranges::copy(values, values_.begin());
  std::ranges::copy(averages, averages_.begin());
}

}  // namespace forebay::flow
