// SPDX-License-Identifier: Apache-2.0
// Access patterns of known benchmarks and applications as signatures, for benchmarks and tests.
#pragma once

#include <forebay/error.hpp>

#include <string_view>
#include <vector>

#include "trace/signature.hpp"

namespace forebay::trace {

/// "stride.4k", "lu", "btio", ...
std::vector<std::string_view> access_pattern_names();

/// The pattern of this name. Fails with kInvalidArgument; the Error lists the names.
Result<Signature> access_pattern(std::string_view name);

}  // namespace forebay::trace
