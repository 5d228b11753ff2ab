// SPDX-License-Identifier: Apache-2.0
// Which situations are measured, and which of the project's goals they answer.
#pragma once

#include <vector>

#include "bench/checkpoint/samples.hpp"

namespace forebay::bench::checkpoint {

inline constexpr std::uint32_t kSteps = 4;

/// What Forebay's strategies take of memory.
inline constexpr std::string_view kMemoryCase = "ckpt.memory.8.exponential";

/// All, in the order in which they are measured.
const std::vector<Case>& all_cases();

const std::vector<GoalRow>& all_goals();

/// Whether fio is measured beside a case: where a goal needs it.
bool has_fio(const Case& in);

}  // namespace forebay::bench::checkpoint
