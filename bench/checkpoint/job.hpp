// SPDX-License-Identifier: Apache-2.0
// A whole job, shared out among the ranks that compute: the same work and the same bytes whether
// all of them compute or some are given to I/O, so that the times of both can be compared.
#pragma once

#include <forebay/error.hpp>
#include <forebay/placement.hpp>

#include <cstdint>

#include "bench/checkpoint/trial.hpp"

namespace forebay::bench::checkpoint {

struct JobSettings {
  Placement placement = Placement::kInRank;
  Computing computing = Computing::kProcessor;
  std::uint64_t units = 0;  ///< of work of the whole job before each step, and after the last
};

/// What a rank's `memory` in measure_job() has to hold, with so many ranks.
std::uint64_t job_memory_bytes(const Checkpoint& checkpoint, std::uint32_t ranks);

/// Writes the steps of a dataset "job.fb", each cut into as many parts as ranks compute, by a
/// Runtime of its own, which is made and ended outside of the clock. Collective; the same outcome
/// on all ranks. `memory` is touched beforehand; no block is in it.
Result<Measured> measure_job(const Team& team,
                             const Checkpoint& checkpoint,
                             const JobSettings& settings,
                             std::span<std::byte> memory);

}  // namespace forebay::bench::checkpoint
