// SPDX-License-Identifier: Apache-2.0
// Boxes of elements of one array.
#pragma once

#include <cstdint>
#include <vector>

namespace forebay::format {

/// A position in a global array or a part: one number for each dimension of the field.
using Coordinates = std::vector<std::uint64_t>;

/// A block of a global array.
struct Box {
  Coordinates start = {};
  Coordinates count = {};

  friend bool operator==(const Box&, const Box&) = default;
};

/// True if both contain the same element. Both must have the same number of dimensions.
bool has_overlap(const Box& a, const Box& b) noexcept;

}  // namespace forebay::format
