// SPDX-License-Identifier: Apache-2.0
// loads_ahead_max(): how many loads the pushes of a session may be ahead of its reads.
#pragma once

#include <forebay/read_plan.hpp>

#include <algorithm>
#include <cstdint>

namespace forebay::push {

/// 0 if the plan permits no pushes. A push of one range has at most as many loads.
inline std::uint64_t loads_ahead_max(const ReadPlan& plan) {
  constexpr std::uint64_t kLoadsPerRequest = 2;  // for each that storage serves at a time
  if (plan.mode != Mode::kOnDemand) return 0;
  const std::uint64_t by_memory = plan.readahead_bytes.value_or(0) / plan.tuning.splinter_bytes;
  return std::min(kLoadsPerRequest * plan.tuning.queue_depth, by_memory);
}

}  // namespace forebay::push
