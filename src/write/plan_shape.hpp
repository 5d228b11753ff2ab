// SPDX-License-Identifier: Apache-2.0
// Chooses strategy, writers and files together: by cost if the machine is known, else by rules.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "write/cost.hpp"
#include "write/plan.hpp"

namespace forebay::write {

struct PlanShape {
  Strategy strategy = Strategy::kAuto;
  std::uint32_t writers = 0;
  std::uint32_t files = 0;
  std::string reason = {};
};

/// The most writers with the placement of a plan.
std::uint32_t writers_limit(const WriteFacts& facts, const WritePlan& plan);

bool is_every_rank_writing(Strategy strategy);

/// Numbers of writers or files to compare, ascending: powers of `factor`, `most`, and `counts`,
/// none above `most`.
std::vector<std::uint32_t> counts_up_to(std::uint32_t most,
                                        std::uint64_t factor,
                                        std::vector<std::uint32_t> counts);

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
