// SPDX-License-Identifier: Apache-2.0
#include "format/grid_copy.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/assert.hpp"
#include "format/records.hpp"

namespace forebay::format {

namespace {

/// Items of a tile in each of its dimensions. 32 lines on both sides are 4 KiB, and as many pages
/// as a core's first translation buffer holds.
constexpr std::uint64_t kTileItems = 32;

/// The two fastest axes. If one is the fastest on both sides, it is `inner`, and `outer` is empty.
struct Plane {
  GridAxis outer;
  GridAxis inner;
  std::uint64_t item_bytes = 0;
};
using PlaneCopy = void (*)(std::byte*, const std::byte*, const Plane&);

/// kBytes: size of an item if it is known to the compiler; 0: `bytes`.
template <std::size_t kBytes>
void copy_line(std::byte* to, const std::byte* from, const GridAxis& axis, std::uint64_t bytes) {
  for (std::uint64_t i = 0; i < axis.count; ++i) {
    std::memcpy(to, from, kBytes == 0 ? bytes : kBytes);
    to += axis.to_stride;
    from += axis.from_stride;
  }
}

template <std::size_t kBytes>
void copy_plane(std::byte* to, const std::byte* from, const Plane& plane) {
  const auto& [outer, inner, bytes] = plane;
  if (outer.count == 1) return copy_line<kBytes>(to, from, inner, bytes);
  for (std::uint64_t row = 0; row < outer.count; row += kTileItems) {
    const std::uint64_t row_end = std::min(row + kTileItems, outer.count);
    for (std::uint64_t column = 0; column < inner.count; column += kTileItems) {
      GridAxis line = inner;
      line.count = std::min(kTileItems, inner.count - column);
      for (std::uint64_t at = row; at < row_end; ++at)
        copy_line<kBytes>(to + at * outer.to_stride + column * inner.to_stride,
                          from + at * outer.from_stride + column * inner.from_stride, line, bytes);
    }
  }
}

PlaneCopy plane_copy_of(std::uint64_t item_bytes) {
  switch (item_bytes) {
    case 1:
      return copy_plane<1>;
    case 2:
      return copy_plane<2>;
    case 4:
      return copy_plane<4>;
    case 8:
      return copy_plane<8>;
    case 16:
      return copy_plane<16>;
    default:
      return copy_plane<0>;
  }
}

void copy_planes(std::byte* to,
                 const std::byte* from,
                 std::span<const GridAxis> axes,
                 const Plane& plane,
                 PlaneCopy copy) {
  if (axes.empty()) return copy(to, from, plane);
  const GridAxis& axis = axes.front();
  for (std::uint64_t i = 0; i < axis.count; ++i)
    copy_planes(to + i * axis.to_stride, from + i * axis.from_stride, axes.subspan(1), plane, copy);
}

}  // namespace

void copy_grid(std::byte* to,
               const std::byte* from,
               std::span<const GridAxis> axes,
               std::uint64_t item_bytes) {
  FOREBAY_ASSERT(axes.size() <= kDimensionsMax);
  std::array<GridAxis, kDimensionsMax> slow{};
  auto end = std::ranges::copy_if(axes, slow.begin(), [](const GridAxis& axis) {
               return axis.count != 1;
             }).out;
  Plane plane{.outer = {}, .inner = {}, .item_bytes = item_bytes};
  const auto take_fastest = [&](std::uint64_t GridAxis::* stride) {
    if (end == slow.begin()) return GridAxis{};
    const auto found = std::min_element(
        slow.begin(), end, [&](const auto& a, const auto& b) { return a.*stride < b.*stride; });
    const GridAxis axis = *found;
    end = std::move(found + 1, end, found);
    return axis;
  };
  plane.inner = take_fastest(&GridAxis::to_stride);
  const bool is_fastest = std::all_of(slow.begin(), end, [&](const GridAxis& axis) {
    return axis.from_stride >= plane.inner.from_stride;
  });
  if (!is_fastest) plane.outer = take_fastest(&GridAxis::from_stride);
  copy_planes(to, from, std::span(slow.begin(), end), plane, plane_copy_of(item_bytes));
}

}  // namespace forebay::format
