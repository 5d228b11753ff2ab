// SPDX-License-Identifier: Apache-2.0
// The measured cases, and the project's goals that they serve.
#pragma once

#include <vector>

#include "bench/checkpoint/samples.hpp"

namespace forebay::bench::checkpoint {

inline constexpr std::uint32_t kSteps = 4;

/// Counted rounds, after a discarded one.
inline constexpr unsigned kRounds = 5;

/// A step for each round of a restart, including the discarded one: a step that was read before may
/// be in a cache below the page cache, which cannot be dropped.
inline constexpr std::uint32_t kRestartSteps = kRounds + 1;

/// Memory of Forebay's strategies.
inline constexpr std::string_view kMemoryCase = "ckpt.memory.8.exponential";

/// All cases, in the order of measurement.
const std::vector<Case>& all_cases();

const std::vector<GoalRow>& all_goals();

/// The bytes of each step, if all steps of a write-only case have `payload_bytes` together. Steps
/// of restarts are more and smaller; their total on the disk is no larger.
std::uint64_t step_bytes_of(const Case& bench_case, std::uint64_t payload_bytes);

/// Whether fio is measured in a case: where a goal needs it.
bool has_fio(const Case& bench_case);

}  // namespace forebay::bench::checkpoint
