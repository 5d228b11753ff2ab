// SPDX-License-Identifier: Apache-2.0
// BoxTree: finds the boxes that may share an element with a given one, without testing each.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "format/box.hpp"

namespace forebay::format {

/// A packed R-tree (Guttman 1984; packed as by Roussopoulos and Leifker 1985): the bounds of
/// kFanOut consecutive boxes, of kFanOut of these, and so on. Its quality depends on the order of
/// the boxes; the order of their first elements keeps neighbors together. The boxes are not stored.
/// Immutable; any thread.
class BoxTree {
 public:
  static constexpr std::uint64_t kFanOut = 16;

  /// A tree of no boxes.
  BoxTree() = default;
  /// `box_of` is called once for each number from 0 to `count` - 1. All boxes have the same number
  /// of dimensions, and none is empty.
  BoxTree(std::uint64_t count, const std::function<Box(std::uint64_t)>& box_of);

  /// Ascending numbers of the boxes that must be tested: a box that is not among them shares no
  /// element with `box`.
  std::vector<std::uint64_t> candidates(const Box& box) const;

 private:
  /// From the first element in each dimension to behind the last one.
  struct Bounds {
    Coordinates begin;
    Coordinates end;
  };
  using Level = std::vector<Bounds>;
  static void extend(Level& level, std::uint64_t child, const Bounds& bounds);
  static bool has_overlap(const Bounds& bounds, const Box& box) noexcept;

  std::uint64_t boxes_ = 0;
  std::vector<Level> levels_;  ///< of boxes first; the last one has one node
};

}  // namespace forebay::format
