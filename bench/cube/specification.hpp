// SPDX-License-Identifier: Apache-2.0
// Which metrics the ladder computes. What the deck's re-mapping was is not known; this one copies
// all that is stored and converts a handful of metrics that people look at, and its C/W is near the
// deck's.
#pragma once

#include <string>

namespace forebay::bench::cube {

/// Of a generated profile with eleven metrics.
std::string ladder_specification();

/// One metric, computed from the first one of any generated profile, over and over.
std::string computing_specification();

}  // namespace forebay::bench::cube
