// SPDX-License-Identifier: Apache-2.0
// What a run keeps of a step, and what must be the same for another run to go on with it.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>

#include "flow/part_set.hpp"
#include "flow/part_store.hpp"
#include "flow/problem.hpp"
#include "flow/simulation.hpp"

namespace forebay::flow {

/// All that the answer depends on.
struct RunSettings {
  ProblemKind problem = ProblemKind::kDiffusion;
  SimulationOptions simulation;
  std::uint64_t mesh_fingerprint = 0;
};

/// Where a run's checkpoints go. References must outlive it.
struct Checkpoints {
  PartStore& store;
  const PartSet& set;
  Team& team;
  RunSettings settings;
};

/// Collective. Writes what `simulation` holds as the step of its number.
Status write_checkpoint(const Checkpoints& checkpoints, const Simulation& simulation);

/// Collective. Goes on from `step`. kInvalidArgument, and which, if settings are others; then
/// `simulation` is as it was.
Status read_checkpoint(const Checkpoints& checkpoints, std::uint64_t step, Simulation& simulation);

}  // namespace forebay::flow
