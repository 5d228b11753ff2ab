// SPDX-License-Identifier: Apache-2.0
// Copies of items on a grid, which has different strides where they are and where they go.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace forebay::format {

/// Items in one dimension: their number, and the bytes between neighbors on both sides.
struct GridAxis {
  std::uint64_t count = 1;
  std::uint64_t from_stride = 0;
  std::uint64_t to_stride = 0;
};

/// Copies all items of the grid, of `item_bytes` each. If different axes are the fastest ones on
/// the two sides, as in a transposition, items are copied in tiles: all lines of a tile stay in a
/// core's first cache until they are used up. The memory must not overlap.
void copy_grid(std::byte* to,
               const std::byte* from,
               std::span<const GridAxis> axes,
               std::uint64_t item_bytes);

}  // namespace forebay::format
