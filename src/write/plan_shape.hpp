// SPDX-License-Identifier: Apache-2.0
// Chooses strategy, writers and files together: by cost if the machine is known, else by rules.
#pragma once

#include <cstdint>
#include <string>

#include "write/cost.hpp"
#include "write/plan.hpp"

namespace forebay::write {

struct PlanShape {
  Strategy strategy = Strategy::kAuto;
  std::uint32_t writers = 0;
  std::uint32_t files = 0;
  std::string reason = {};
};

/// The strategy that the other values of a plan imply; kAuto if they imply none.
Strategy implied_strategy(const WriteFacts& facts, const WritePlan& requested);

/// Chooses the shape of a plan that check_shape() has accepted.
PlanShape choose_shape(const WriteFacts& facts,
                       const StepTotals& totals,
                       const WritePlan& requested);

/// Completes a plan with a shape and a placement, except for its checksum stage: exchange, transfer
/// mode, sizes. Takes the same time for any number of ranks.
void complete_shape(const WriteFacts& facts, const StepTotals& totals, WritePlan& plan);

}  // namespace forebay::write
