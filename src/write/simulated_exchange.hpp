// SPDX-License-Identifier: Apache-2.0
// simulate_arrivals(): the times at which the bytes of a step arrive at their writers, simulated
// unit by unit: over the links of nodes, and by copies in the ranks that receive them. Excludes
// storage, which simulated_step.hpp simulates.
#pragma once

#include <cstdint>
#include <vector>

#include "model/storage_model.hpp"
#include "write/plan.hpp"

namespace forebay::write {

/// Bytes that a writer can write from time `at` on.
struct Arrival {
  model::Time at = {};
  std::uint32_t writer = 0;  ///< index of the writer
  std::uint64_t bytes = 0;
};

/// All arrivals of a step in the order of time. Bytes that a writer has put, or reads from shared
/// memory of its node, arrive at 0. `plan` must be complete; `facts` must have a machine and
/// step_bytes. Links carry nothing else meanwhile: transfers from writers to storage are not
/// counted here.
std::vector<Arrival> simulate_arrivals(const WriteFacts& facts, const WritePlan& plan);

}  // namespace forebay::write
