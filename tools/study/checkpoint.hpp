// SPDX-License-Identifier: Apache-2.0
// The study of checkpoints: one step, simulated on a machine for every strategy with every number
// of writers and files that is a power of two. Pure; the machine is a value.
#pragma once

#include <forebay/error.hpp>
#include <forebay/write_plan.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "model/machine.hpp"
#include "tools/study/size_distribution.hpp"
#include "write/simulated_step.hpp"

namespace forebay::study {

/// The strategies that can be simulated.
inline constexpr std::array kSimulatedStrategies{
    Strategy::kSerial,          Strategy::kFilePerProcess, Strategy::kBaton, Strategy::kCollective,
    Strategy::kReducedBlocking, Strategy::kBrigade,        Strategy::kGather};

struct Checkpoint {
  std::uint32_t ranks = 64;
  std::uint64_t bytes_per_rank = 0;  ///< on average
  SizeDistribution sizes = SizeDistribution::kEqual;
  /// Number of nodes over which ranks are spread; 0: the machine's number of clients.
  std::uint32_t nodes = 0;
  std::vector<Strategy> strategies{kSimulatedStrategies.begin(), kSimulatedStrategies.end()};

  std::uint64_t step_bytes() const { return ranks * bytes_per_rank; }
};

/// One plan, and its simulated step.
struct Cell {
  WritePlan plan;
  write::SimulatedStep step;
};

/// All cells of one machine.
struct Sweep {
  std::uint32_t nodes = 0;
  std::vector<Cell> cells;
  /// All ranks write one file, each in whole stripes: aligned to the unit of a lock, whatever size
  /// that costs.
  Cell shared;
};

/// The plans of the study, by strategy, then writers, then files. Fails with kInvalidArgument if a
/// strategy cannot be planned for these ranks.
Result<std::vector<WritePlan>> plans_of(const Checkpoint& checkpoint,
                                        const model::Machine& machine);

/// Simulates all plans. Calls `on_plan` after each with the number of finished plans; kCancelled if
/// it returns false.
Result<Sweep> sweep(const Checkpoint& checkpoint,
                    const model::Machine& machine,
                    const std::function<bool(std::size_t)>& on_plan);

}  // namespace forebay::study
