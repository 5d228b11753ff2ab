// SPDX-License-Identifier: Apache-2.0
#include "format/box_tree.hpp"

#include <algorithm>

namespace forebay::format {

void BoxTree::extend(Level& level, std::uint64_t child, const Bounds& bounds) {
  if (child % kFanOut == 0) {
    level.push_back(bounds);
    return;
  }
  Bounds& node = level.back();
  for (std::size_t d = 0; d < bounds.begin.size(); ++d) {
    node.begin[d] = std::min(node.begin[d], bounds.begin[d]);
    node.end[d] = std::max(node.end[d], bounds.end[d]);
  }
}

BoxTree::BoxTree(std::uint64_t count, const std::function<Box(std::uint64_t)>& box_of)
    : boxes_(count) {
  if (count == 0) return;
  levels_.emplace_back();
  for (std::uint64_t number = 0; number < count; ++number) {
    Box box = box_of(number);
    for (std::size_t d = 0; d < box.start.size(); ++d)
      box.count[d] += box.start[d];
    extend(levels_.back(), number, {std::move(box.start), std::move(box.count)});
  }
  while (levels_.back().size() > 1) {
    Level above;
    for (std::uint64_t node = 0; node < levels_.back().size(); ++node)
      extend(above, node, levels_.back()[node]);
    levels_.push_back(std::move(above));
  }
}

bool BoxTree::has_overlap(const Bounds& bounds, const Box& box) noexcept {
  for (std::size_t d = 0; d < box.start.size(); ++d)
    if (box.start[d] >= bounds.end[d] || box.start[d] + box.count[d] <= bounds.begin[d])
      return false;
  return true;
}

std::vector<std::uint64_t> BoxTree::candidates(const Box& box) const {
  std::vector<std::uint64_t> nodes;
  if (boxes_ > 0) nodes.push_back(0);
  for (std::size_t level = levels_.size(); level-- > 0;) {
    const std::uint64_t below = level > 0 ? levels_[level - 1].size() : boxes_;
    std::vector<std::uint64_t> children;
    for (const std::uint64_t node : nodes) {
      if (!has_overlap(levels_[level][node], box)) continue;
      const std::uint64_t end = std::min((node + 1) * kFanOut, below);
      for (std::uint64_t child = node * kFanOut; child < end; ++child)
        children.push_back(child);
    }
    nodes = std::move(children);
  }
  return nodes;
}

}  // namespace forebay::format
