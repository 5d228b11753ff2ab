// SPDX-License-Identifier: Apache-2.0
// Which situations are measured, and which of the project's goals they answer.
#pragma once

#include <vector>

#include "bench/checkpoint/samples.hpp"

namespace forebay::bench::checkpoint {

inline constexpr std::uint32_t kSteps = 4;

/// Rounds that count, after one that does not.
inline constexpr unsigned kRounds = 5;

/// A step for each round of a restart, the thrown away one included: whatever was read before may
/// be in a cache below the page cache, which nobody can empty.
inline constexpr std::uint32_t kRestartSteps = kRounds + 1;

/// What Forebay's strategies take of memory.
inline constexpr std::string_view kMemoryCase = "ckpt.memory.8.exponential";

/// All, in the order in which they are measured.
const std::vector<Case>& all_cases();

const std::vector<GoalRow>& all_goals();

/// The bytes of each step, where all steps of a case that only writes are `payload_bytes`. Those of
/// restarts are more, and smaller: on the disk they are no more.
std::uint64_t step_bytes_of(const Case& in, std::uint64_t payload_bytes);

/// Whether fio is measured beside a case: where a goal needs it.
bool has_fio(const Case& in);

}  // namespace forebay::bench::checkpoint
