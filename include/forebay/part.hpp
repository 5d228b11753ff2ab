// SPDX-License-Identifier: Apache-2.0
// Parts of a field, and shapes: shared by writing and reading of datasets.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

namespace forebay {

/// Number of elements in each dimension; the last dimension varies fastest (C order).
using Shape = std::vector<std::uint64_t>;

/// The number of a part of a field. A part is what one put() adds: a mesh part, a domain, the
/// particles of a rank. The application chooses the numbers, with gaps if it likes. Reading uses
/// the same numbers, on any ranks.
struct Part {
  std::uint64_t number = 0;

  friend constexpr auto operator<=>(const Part&, const Part&) noexcept = default;
};

/// Number of elements of a shape; 1 without dimensions.
constexpr std::uint64_t element_count(const Shape& shape) noexcept {
  std::uint64_t elements = 1;
  for (const std::uint64_t extent : shape)
    elements *= extent;
  return elements;
}

}  // namespace forebay
