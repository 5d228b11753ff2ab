// SPDX-License-Identifier: Apache-2.0
// When the bytes of a step are at their writers, played piece by piece: over the links of nodes,
// and by copies in the ranks that take them. Storage is not in it; that is played_step.hpp.
#pragma once

#include <cstdint>
#include <vector>

#include "model/storage_model.hpp"
#include "write/plan.hpp"

namespace forebay::write {

/// Bytes that a writer may write from some time on.
struct Arrival {
  model::Time at = {};
  std::uint32_t writer = 0;  ///< its number
  std::uint64_t bytes = 0;
};

/// All arrivals of a step in the order of time; what a writer has itself, or reads where the ranks
/// of its node have it, is there at 0. `plan` is complete; `facts` have a machine and step_bytes.
/// Links carry nothing else meanwhile: what writers send to storage is not counted here.
std::vector<Arrival> played_arrivals(const WriteFacts& facts, const WritePlan& plan);

}  // namespace forebay::write
