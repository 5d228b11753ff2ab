// SPDX-License-Identifier: Apache-2.0
// Integer expressions of kernel files: docs/formats/kernel.md#offsets.
#pragma once

#include <forebay/error.hpp>

#include <string>
#include <vector>

#include "kernels/kernel.h"

namespace forebay::kernel {

/// In postfix order. `names` are those that the expression may contain. Fails with
/// kInvalidArgument; the cause has the column.
Result<std::vector<fk_token>> parse_expression(const std::string& text,
                                               const std::vector<std::string>& names);

}  // namespace forebay::kernel
