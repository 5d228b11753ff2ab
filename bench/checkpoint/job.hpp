// SPDX-License-Identifier: Apache-2.0
// A whole job, distributed over its computing ranks. Work and bytes are the same whether all ranks
// compute or some are I/O ranks, so that both times can be compared.
#pragma once

#include <forebay/error.hpp>
#include <forebay/placement.hpp>

#include <cstdint>

#include "bench/checkpoint/trial.hpp"

namespace forebay::bench::checkpoint {

struct JobSettings {
  Placement placement = Placement::kInRank;
  ComputeKind compute_kind = ComputeKind::kCpu;
  std::uint64_t units = 0;  ///< work of the whole job before each step, and after the last
};

/// The size of a rank's `memory` for measure_job() with this number of ranks.
std::uint64_t job_memory_bytes(const Checkpoint& checkpoint, std::uint32_t ranks);

/// Writes the steps of a dataset "job.fb", each cut into one part for each computing rank, by a
/// separate Runtime that is created and ended outside the timed section. Collective; the same
/// outcome on all ranks. `memory` is touched beforehand; it need not contain a block.
Result<TrialResult> measure_job(const RankTeam& team,
                                const Checkpoint& checkpoint,
                                const JobSettings& settings,
                                std::span<std::byte> memory);

}  // namespace forebay::bench::checkpoint
