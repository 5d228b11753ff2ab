// SPDX-License-Identifier: Apache-2.0
// One measured run of one candidate on the ranks of a team: steps written, with or without a
// computation between them, until all is on storage; or a restart from written steps. The candidate
// is an argument, so tests need neither the registry nor the frame.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <functional>
#include <vector>

#include "bench/checkpoint/candidate.hpp"
#include "bench/checkpoint/computation.hpp"

namespace forebay::bench::checkpoint {

/// The application's computation. The same on all ranks.
struct Application {
  ComputeKind compute_kind = ComputeKind::kNone;
  std::uint64_t units = 0;  ///< of work before each step, and after the last
};

/// One run of steps. Times are those of the slowest rank.
struct TrialResult {
  double blocked_s = 0;          ///< in open, block_memory, write_step and close
  double computing_s = 0;        ///< in the computation, including making blocks and disturbances
  double fill_s = 0;             ///< in making blocks, which is the same for all
  double total_s = 0;            ///< until the application has ended
  double durable_s = 0;          ///< until every byte is on storage: never before total_s
  double memory_max_bytes = 0;   ///< growth of a rank's resident memory, or staging if that is
                                 ///< larger
  double memory_sum_bytes = 0;   ///< of all ranks; counts shared memory more than once
  double staging_bytes = 0;      ///< of all ranks, as the candidate reports it
  double staging_over_plan = 0;  ///< staging / its bound, of the rank with the largest ratio; 0: no
                                 ///< bound
  double files = 0;
  double metadata_calls = 0;  ///< of all ranks, without those of the harness's sync
  double dedicated_ranks = 0;
  double payload_bytes = 0;
};

/// Returns the number of metadata operations and syncs of this process so far; always 0 without a
/// counter.
using MetadataCounter = std::function<std::uint64_t()>;

/// Resources of a rank for a run.
struct TrialResources {
  std::span<std::byte> block;  ///< its memory: of the size of its block, and warm
  MetadataCounter metadata_counter = {};
};

/// Writes all steps. Collective over the team; the same Status and numbers on all ranks. An Error
/// has the first rank that failed.
Result<TrialResult> measure_write(const Candidate& candidate,
                                  const RankTeam& team,
                                  const Checkpoint& checkpoint,
                                  const Application& application,
                                  const TrialResources& resources);

/// The part of a step that one of `readers` ranks reads: equal numbers of words, as far as
/// possible.
ByteRange share_of(const Checkpoint& checkpoint, std::uint32_t reader, std::uint32_t readers);

/// Buffer bytes for what a rank reads (candidate.hpp).
std::uint64_t read_buffer_bytes(const Checkpoint& checkpoint, std::uint32_t readers);

/// Reads one step with all ranks of the team, which may be more or fewer than have written. Returns
/// the seconds of the slowest from before opening until after closing. Then every word is compared,
/// without being timed: a wrong one is kDamage.
Result<double> measure_restart(const Candidate& candidate,
                               const RankTeam& team,
                               const Checkpoint& checkpoint,
                               std::uint32_t step,
                               std::span<std::byte> buffer);

/// The outcome of all ranks of a team, on all of them: success, or the failure of the first rank
/// that has one. Collective.
Status agree(const RankTeam& team, const Status& mine);

}  // namespace forebay::bench::checkpoint
