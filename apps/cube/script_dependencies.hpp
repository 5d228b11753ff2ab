// SPDX-License-Identifier: Apache-2.0
// Dependencies between scripts of a profile's own derived metrics: an initialization assigns a
// global, other scripts read it. Found in the text, before anything is compiled.
#pragma once

#include <cstddef>
#include <vector>

#include "cube/anchor.hpp"

namespace forebay::cube {

/// Returns the indices, ascending, of the other metrics whose initialization may assign globals
/// that scripts of `metric` read but do not assign. An occurrence of the name is enough, so the
/// result may contain too many. A script that cannot be parsed has no dependencies; compiling it
/// returns the error.
std::vector<std::size_t> initializer_metrics(const Anchor& anchor, const Metric& metric);

}  // namespace forebay::cube
