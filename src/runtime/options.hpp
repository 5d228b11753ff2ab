// SPDX-License-Identifier: Apache-2.0
// RuntimeOptions from environment variables that the caller passes.
#pragma once

#include <forebay/runtime.hpp>

#include "base/config.hpp"

namespace forebay {

/// As options_from_environment(), with these variables instead of those of the process.
Result<RuntimeOptions> options_from(const Environment& environment);

}  // namespace forebay
