// SPDX-License-Identifier: Apache-2.0
// find_overlap(): whether boxes of one array overlap, without testing each pair.
#pragma once

#include <optional>
#include <span>
#include <utility>

#include "format/box.hpp"

namespace forebay::format {

/// Numbers of two of these boxes that share an element, the smaller first; no value if none do.
/// They have the same number of dimensions, and none is empty. The space is halved between starts
/// until few boxes are left: about n log n steps for boxes that tile an array in any way.
std::optional<std::pair<std::size_t, std::size_t>> find_overlap(std::span<const Box> boxes);

}  // namespace forebay::format
