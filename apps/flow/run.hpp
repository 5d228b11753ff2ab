// SPDX-License-Identifier: Apache-2.0
// A run: parts from a store, steps, checkpoints into another one.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <optional>
#include <string>

#include "command/progress.hpp"
#include "command/report.hpp"
#include "flow/part_store.hpp"
#include "flow/problem.hpp"
#include "flow/simulation.hpp"

namespace forebay::flow {

enum class Begin : std::uint8_t {
  kAfresh,  ///< a store that has checkpoints already is refused
  kResume,  ///< from the newest checkpoint; from the beginning if there is none
};

struct RunOptions {
  std::string mesh;
  std::string checkpoints;   ///< empty: none are written
  std::uint64_t steps = 10;  ///< that are done at the end, those before a restart included
  std::uint64_t every = 10;  ///< steps between two checkpoints; the last step is always one
  Begin begin = Begin::kAfresh;
  /// From this checkpoint and not from the newest, if `begin` is kResume. Steps are kept from above
  /// the newest on: the numbers up to that are taken.
  std::optional<std::uint64_t> resume_step = {};
  std::string mapping = "blocks";
  ProblemKind problem = ProblemKind::kDiffusion;
  SimulationOptions simulation;
  command::ProgressMode progress = command::ProgressMode::kSilent;
};

/// Collective. The document of apps/flow/README.md, on rank 0; an empty one on the others. A
/// failure is the same on all ranks.
Result<command::Json> run(const RunOptions& options, const StoreOpener& open_store, Team& team);

}  // namespace forebay::flow
