// SPDX-License-Identifier: Apache-2.0
// The words in which datasets are written and read alike: parts of a field, and shapes.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

namespace forebay {

/// Elements in each dimension, the last of which varies fastest (C order).
using Shape = std::vector<std::uint64_t>;

/// One of the pieces into which a field is cut: a mesh part, a domain, a rank's particles. Numbers
/// are the application's own, the same whoever writes or reads the part; gaps are allowed.
struct Part {
  std::uint64_t number = 0;

  friend constexpr auto operator<=>(const Part&, const Part&) noexcept = default;
};

/// How many elements something of this shape has; one if it has no dimensions.
constexpr std::uint64_t elements_of(const Shape& shape) noexcept {
  std::uint64_t elements = 1;
  for (const std::uint64_t extent : shape)
    elements *= extent;
  return elements;
}

}  // namespace forebay
