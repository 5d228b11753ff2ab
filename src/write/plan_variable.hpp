// SPDX-License-Identifier: Apache-2.0
// The plan that the variable FOREBAY_PLAN names, from variables that the caller passes.
#pragma once

#include <forebay/error.hpp>
#include <forebay/write_plan.hpp>

#include <optional>

#include "base/config.hpp"

namespace forebay::write {

/// As write_plan_from_environment(), with these variables instead of those of the process.
Result<std::optional<WritePlan>> parse_plan_variable(const Environment& environment);

}  // namespace forebay::write
