// SPDX-License-Identifier: Apache-2.0
// The study of checkpoints: one step, played on a machine by every strategy with every number of
// writers and files that is a power of two. Pure; the machine is a value.
#pragma once

#include <forebay/error.hpp>
#include <forebay/write_plan.hpp>

#include <cstdint>
#include <functional>
#include <vector>

#include "bench/checkpoint/sizes.hpp"
#include "model/machine.hpp"
#include "write/played_step.hpp"

namespace forebay::study {

struct Checkpoint {
  std::uint32_t ranks = 64;
  std::uint64_t bytes_per_rank = 0;  ///< on average
  bench::checkpoint::Sizes sizes = bench::checkpoint::Sizes::kEqual;
  /// Ranks are spread over so many nodes; 0: as many as the machine has clients.
  std::uint32_t nodes = 0;
  std::vector<Strategy> strategies = {};  ///< never empty

  std::uint64_t step_bytes() const { return ranks * bytes_per_rank; }
};

/// One plan, and what became of the step.
struct Cell {
  WritePlan plan;
  write::PlayedStep step;
};

/// All cells of one machine.
struct Sweep {
  std::uint32_t nodes = 0;
  std::vector<Cell> cells;
  /// All ranks to one file, what each writes at once being whole stripes: aligned to what a lock
  /// covers, whatever that costs in size.
  Cell shared;
};

/// The plans of the study, by strategy, then writers, then files.
/// Fails with kInvalidArgument if a strategy cannot be planned for these ranks at all.
Result<std::vector<WritePlan>> plans_of(const Checkpoint& checkpoint,
                                        const model::Machine& machine);

/// Plays them all. `done` is called after each with how many there were.
Result<Sweep> sweep(const Checkpoint& checkpoint,
                    const model::Machine& machine,
                    const std::function<void(std::size_t)>& done);

}  // namespace forebay::study
