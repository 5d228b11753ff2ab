// SPDX-License-Identifier: Apache-2.0
// One measured run of one contender on the ranks of a team: steps written, with a computation
// between them or without, until all of it is on storage; or a restart from what was written.
// The contender is handed in, so that tests need neither the registry nor the frame.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <functional>
#include <vector>

#include "bench/checkpoint/computing.hpp"
#include "bench/checkpoint/contender.hpp"

namespace forebay::bench::checkpoint {

/// What an application does besides. The same on all ranks.
struct Application {
  Computing computing = Computing::kNone;
  std::uint64_t units = 0;  ///< of work before each step, and after the last
};

/// One run of steps. Times are those of the slowest rank.
struct Measured {
  double blocked_s = 0;    ///< in open, write_step and close
  double computing_s = 0;  ///< in the computation, making blocks included, with what disturbs it
  double making_s = 0;     ///< in making blocks, which is the same for all
  double total_s = 0;      ///< until the application has ended
  double durable_s = 0;    ///< until every byte is on storage: never before total_s
  double memory_max_bytes = 0;   ///< growth of a rank's resident memory, or staging if that is more
  double memory_sum_bytes = 0;   ///< of all ranks; counts what they share more than once
  double staging_bytes = 0;      ///< of all ranks, as the contender tells
  double staging_over_plan = 0;  ///< over its bound, of the rank where that is most; 0: no bound
  double files = 0;
  double metadata_calls = 0;  ///< of all ranks, those of the harness's sync left out
  double ranks_given_up = 0;
  double payload_bytes = 0;
};

/// Names and syncs that were called so far by this process; 0 for ever where nobody counts.
using CountCalls = std::function<std::uint64_t()>;

/// What a rank brings to a run.
struct Means {
  std::span<std::byte> block;  ///< its memory: of the size of its block, and warm
  CountCalls count_calls = {};
};

/// Writes all steps. Collective
/// over the team; the same Status and numbers on all ranks. An Error names the first rank that
/// failed.
Result<Measured> measure_writing(const Contender& contender,
                                 const Team& team,
                                 const Checkpoint& checkpoint,
                                 const Application& application,
                                 const Means& means);

/// The part of a step that each of `readers` reads: as many words each as can be.
ByteRange share_of(const Checkpoint& checkpoint, std::uint32_t reader, std::uint32_t readers);

/// Room for what a rank reads (contender.hpp).
std::uint64_t room_bytes(const Checkpoint& checkpoint, std::uint32_t readers);

/// Reads one step with all ranks of the team, which may be more or fewer than have written.
/// Returns the seconds of the slowest from before opening until after closing. Then every word is
/// compared, outside the clock: a wrong one is kDamage.
Result<double> measure_restart(const Contender& contender,
                               const Team& team,
                               const Checkpoint& checkpoint,
                               std::uint32_t step,
                               std::span<std::byte> room);

/// The outcome of all ranks of a team, on all of them: success, or the failure of the first rank
/// that has one. Collective.
Status agree(const Team& team, const Status& mine);

}  // namespace forebay::bench::checkpoint
