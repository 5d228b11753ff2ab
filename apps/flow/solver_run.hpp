// SPDX-License-Identifier: Apache-2.0
// A run: reads parts from a store, computes steps, writes checkpoints to another store.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <optional>
#include <string>

#include "command/command_result.hpp"
#include "command/progress.hpp"
#include "flow/part_store.hpp"
#include "flow/problem.hpp"
#include "flow/simulation.hpp"

namespace forebay::flow {

enum class StartMode : std::uint8_t {
  kFresh,   ///< an error if the store has checkpoints already
  kResume,  ///< from the newest checkpoint; from the beginning if none exists
};

struct RunOptions {
  std::string mesh;
  std::string checkpoints;   ///< empty: none are written
  std::uint64_t steps = 10;  ///< steps done at the end, including those before a restart
  std::uint64_t checkpoint_interval =
      10;  ///< steps between two checkpoints; the last step always has one
  StartMode start_mode = StartMode::kFresh;
  /// Resumes from this checkpoint instead of the newest, if `start_mode` is kResume. Writes
  /// checkpoints only above the newest existing one: lower numbers are taken.
  std::optional<std::uint64_t> resume_step = {};
  std::string mapping = "blocks";
  ProblemKind problem = ProblemKind::kDiffusion;
  SimulationOptions simulation;
  command::ProgressMode progress = command::ProgressMode::kSilent;
};

/// Collective. Returns the document of apps/flow/README.md on rank 0, an empty one on other ranks.
/// A failure is the same on all ranks.
Result<command::Json> run(const RunOptions& options,
                          const StoreOpener& open_store,
                          SolverComm& comm);

}  // namespace forebay::flow
