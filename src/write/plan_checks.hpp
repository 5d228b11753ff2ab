// SPDX-License-Identifier: Apache-2.0
// What a plan may not say. Apart from what is chosen, because it is most of the text.
#pragma once

#include <forebay/write_plan.hpp>

#include <string>

#include "write/plan.hpp"

namespace forebay::write {

tl::unexpected<Error> bad_plan(std::string cause);

/// Numbers that are wrong in any job.
Status check_numbers(const WritePlan& wanted);

/// What cannot go together with the strategy, the placement and the ranks of the job. `wanted` has
/// its strategy (or kAuto) and its placement.
Status check_shape(const WriteFacts& facts, const WritePlan& wanted);

}  // namespace forebay::write
