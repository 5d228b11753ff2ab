// SPDX-License-Identifier: Apache-2.0
// Whether boxes of one array overlap, without a look at each pair.
#pragma once

#include <optional>
#include <span>
#include <utility>

#include "format/box.hpp"

namespace forebay::format {

/// Two of these boxes that share an element, by their numbers, the smaller first; no value if none
/// do. They have the same number of dimensions, and none is empty. The space is halved between
/// starts until few are left: about n log n steps for boxes that cut an array anyhow.
std::optional<std::pair<std::size_t, std::size_t>> find_overlap(std::span<const Box> boxes);

}  // namespace forebay::format
