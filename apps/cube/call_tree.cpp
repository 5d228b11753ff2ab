// SPDX-License-Identifier: Apache-2.0
#include "cube/call_tree.hpp"

#include <algorithm>
#include <numeric>

namespace forebay::cube {

namespace {

/// All children of all nodes, those of a node together and in their order.
class Children {
 public:
  explicit Children(std::span<const CallPath> paths) : begins_(paths.size() + 1) {
    for (const CallPath& path : paths) {
      if (path.parent != kNone) ++begins_[path.parent + 1];
    }
    std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
    places_.resize(begins_.back());
    std::vector<std::uint32_t> next(begins_.begin(), begins_.end() - 1);
    for (std::uint32_t place = 0; place < paths.size(); ++place) {
      if (paths[place].parent != kNone) places_[next[paths[place].parent]++] = place;
    }
  }

  std::span<const std::uint32_t> of(std::uint32_t place) const {
    return std::span(places_).subspan(begins_[place], begins_[place + 1] - begins_[place]);
  }

 private:
  std::vector<std::uint32_t> begins_;
  std::vector<std::uint32_t> places_;
};

/// The numbering of INCLUSIVE metrics. Going through the places in their order is going through
/// the tree depth first; children are numbered when their parent is met, a root before all others
/// of its tree.
std::vector<std::uint32_t> children_together(std::span<const CallPath> paths) {
  const Children children(paths);
  std::vector<std::uint32_t> places;
  places.reserve(paths.size());
  for (std::uint32_t place = 0; place < paths.size(); ++place) {
    if (paths[place].parent == kNone) places.push_back(place);
    const auto below = children.of(place);
    places.insert(places.end(), below.begin(), below.end());
  }
  return places;
}

}  // namespace

std::vector<std::uint32_t> CallTree::places_by_row(MetricKind kind) const {
  if (kind == MetricKind::kInclusive) return children_together(paths_);
  std::vector<std::uint32_t> places(paths_.size());
  std::iota(places.begin(), places.end(), 0U);
  return places;
}

std::vector<std::uint32_t> CallTree::rows_by_place(MetricKind kind) const {
  const std::vector<std::uint32_t> places = places_by_row(kind);
  std::vector<std::uint32_t> rows(places.size());
  for (std::uint32_t row = 0; row < places.size(); ++row)
    rows[places[row]] = row;
  return rows;
}

std::vector<std::uint32_t> CallTree::subtree_ends() const {
  std::vector<std::uint32_t> ends(paths_.size());
  std::iota(ends.begin(), ends.end(), 1U);
  for (std::uint32_t place = size(); place-- > 0;) {
    const std::uint32_t parent = paths_[place].parent;
    if (parent != kNone) ends[parent] = std::max(ends[parent], ends[place]);
  }
  return ends;
}

std::vector<std::uint32_t> CallTree::depths() const {
  std::vector<std::uint32_t> depths(paths_.size());
  for (std::uint32_t place = 0; place < size(); ++place) {
    const std::uint32_t parent = paths_[place].parent;
    if (parent != kNone) depths[place] = depths[parent] + 1;
  }
  return depths;
}

}  // namespace forebay::cube
