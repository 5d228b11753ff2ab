// SPDX-License-Identifier: Apache-2.0
// What scripts of a profile's own derived metrics need of each other: a global that one
// initialisation assigns, others may read. Found in their text, before anything is compiled.
#pragma once

#include <cstddef>
#include <vector>

#include "cube/anchor.hpp"

namespace forebay::cube {

/// Places of the other metrics whose initialisation may assign what scripts of `metric` read and do
/// not assign themselves, in the order of the description. A name is enough: rather one too many.
/// Scripts that cannot be parsed need nothing; compiling them tells why.
std::vector<std::size_t> initialised_by(const Anchor& anchor, const Metric& metric);

}  // namespace forebay::cube
