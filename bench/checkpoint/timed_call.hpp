// SPDX-License-Identifier: Apache-2.0
// Single calls of Forebay, timed separately: adopting a buffer, putting a copy, beginning a step;
// and the plain copy for comparison. Each has a separate dataset, whose steps are durable before
// the next one begins, so that no other work is timed.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>

#include "bench/checkpoint/trial.hpp"

namespace forebay::bench::checkpoint {

enum class TimedCall : std::uint32_t {
  kAdopt,       ///< put() of an adopted buffer, and commit()
  kPut,         ///< put() of a copy; the agent computes checksums
  kHashingPut,  ///< the same, checksums during the copy
  kMemoryCopy,  ///< memcpy() into touched memory of the block's size
  kBeginStep,   ///< begin_step(); the program sleeps before each
};

struct CallSettings {
  TimedCall call = TimedCall::kAdopt;
  std::uint32_t steps = 5;  ///< counted steps; one more precedes them, unless there is no pause
  double pause_s = 0;       ///< before each step, or copy
};

/// Collective. `blocked_s` is the median of the call over the steps, `total_s` that of begin_step()
/// to commit() together, each of the slowest rank. `block` is this rank's, and warm.
Result<TrialResult> measure_call(const RankTeam& team,
                                 const Checkpoint& checkpoint,
                                 const CallSettings& settings,
                                 std::span<const std::byte> block);

}  // namespace forebay::bench::checkpoint
