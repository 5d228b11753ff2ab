// SPDX-License-Identifier: Apache-2.0
// Boxes of elements of one array.
#pragma once

#include <cstdint>
#include <vector>

namespace forebay::format {

/// A place in a global array or a part: as many numbers as the field has dimensions.
using Place = std::vector<std::uint64_t>;

/// A block of a global array.
struct Box {
  Place start = {};
  Place count = {};

  friend bool operator==(const Box&, const Box&) = default;
};

/// True if both have an element; they have the same number of dimensions.
bool intersect(const Box& a, const Box& b) noexcept;

}  // namespace forebay::format
