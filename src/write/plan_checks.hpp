// SPDX-License-Identifier: Apache-2.0
// Checks of the values that a plan sets, before plan_write() chooses the others.
#pragma once

#include <forebay/write_plan.hpp>

#include <string>

#include "write/plan.hpp"

namespace forebay::write {

tl::unexpected<Error> invalid_plan(std::string cause);

/// Rejects numbers that are wrong in any job.
Status check_numbers(const WritePlan& requested);

/// Rejects values that contradict the strategy, the placement or the ranks of the job. `requested`
/// must have its strategy (or kAuto) and its placement.
Status check_shape(const WriteFacts& facts, const WritePlan& requested);

}  // namespace forebay::write
