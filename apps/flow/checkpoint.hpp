// SPDX-License-Identifier: Apache-2.0
// Writes and reads checkpoints. Stored settings ensure that a resumed run computes the same result.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>

#include "flow/part_set.hpp"
#include "flow/part_store.hpp"
#include "flow/problem.hpp"
#include "flow/simulation.hpp"

namespace forebay::flow {

/// All settings that determine the result.
struct RunSettings {
  ProblemKind problem = ProblemKind::kDiffusion;
  SimulationOptions simulation;
  std::uint64_t mesh_fingerprint = 0;
};

/// Destination of a run's checkpoints. References must outlive it.
struct CheckpointContext {
  PartStore& store;
  const PartSet& set;
  SolverComm& comm;
  RunSettings settings;
};

/// Collective. Writes the state of `simulation` as the step with its number.
Status write_checkpoint(const CheckpointContext& checkpoints, const Simulation& simulation);

/// Collective. Restores the state of `step`. Fails with kInvalidArgument, which names the setting,
/// if settings differ; `simulation` is then unchanged.
Status read_checkpoint(const CheckpointContext& checkpoints,
                       std::uint64_t step,
                       Simulation& simulation);

}  // namespace forebay::flow
