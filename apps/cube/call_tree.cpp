// SPDX-License-Identifier: Apache-2.0
#include "cube/call_tree.hpp"

#include <algorithm>
#include <numeric>

namespace forebay::cube {

namespace {

/// The children of all nodes; those of one node are contiguous and in order.
class ChildLists {
 public:
  explicit ChildLists(std::span<const CallPath> paths) : offsets_(paths.size() + 1) {
    for (const CallPath& path : paths) {
      if (path.parent != kNone) ++offsets_[path.parent + 1];
    }
    std::partial_sum(offsets_.begin(), offsets_.end(), offsets_.begin());
    indices_.resize(offsets_.back());
    std::vector<std::uint32_t> next(offsets_.begin(), offsets_.end() - 1);
    for (std::uint32_t index = 0; index < paths.size(); ++index) {
      if (paths[index].parent != kNone) indices_[next[paths[index].parent]++] = index;
    }
  }

  std::span<const std::uint32_t> of(std::uint32_t index) const {
    return std::span(indices_).subspan(offsets_[index], offsets_[index + 1] - offsets_[index]);
  }

 private:
  std::vector<std::uint32_t> offsets_;
  std::vector<std::uint32_t> indices_;
};

/// The numbering of INCLUSIVE metrics. Visiting nodes in the order of their indices is a
/// depth-first traversal. Children are numbered when their parent is visited, a root before all
/// others of its tree.
std::vector<std::uint32_t> inclusive_row_order(std::span<const CallPath> paths) {
  const ChildLists children(paths);
  std::vector<std::uint32_t> indices;
  indices.reserve(paths.size());
  for (std::uint32_t index = 0; index < paths.size(); ++index) {
    if (paths[index].parent == kNone) indices.push_back(index);
    const auto below = children.of(index);
    indices.insert(indices.end(), below.begin(), below.end());
  }
  return indices;
}

}  // namespace

std::vector<std::uint32_t> CallTree::call_paths_by_row(MetricKind kind) const {
  if (kind == MetricKind::kInclusive) return inclusive_row_order(paths_);
  std::vector<std::uint32_t> indices(paths_.size());
  std::iota(indices.begin(), indices.end(), 0U);
  return indices;
}

std::vector<std::uint32_t> CallTree::rows_by_call_path(MetricKind kind) const {
  const std::vector<std::uint32_t> indices = call_paths_by_row(kind);
  std::vector<std::uint32_t> rows(indices.size());
  for (std::uint32_t row = 0; row < indices.size(); ++row)
    rows[indices[row]] = row;
  return rows;
}

std::vector<std::uint32_t> CallTree::subtree_ends() const {
  std::vector<std::uint32_t> ends(paths_.size());
  std::iota(ends.begin(), ends.end(), 1U);
  for (std::uint32_t index = size(); index-- > 0;) {
    const std::uint32_t parent = paths_[index].parent;
    if (parent != kNone) ends[parent] = std::max(ends[parent], ends[index]);
  }
  return ends;
}

std::vector<std::uint32_t> CallTree::depths() const {
  std::vector<std::uint32_t> depths(paths_.size());
  for (std::uint32_t index = 0; index < size(); ++index) {
    const std::uint32_t parent = paths_[index].parent;
    if (parent != kNone) depths[index] = depths[parent] + 1;
  }
  return depths;
}

}  // namespace forebay::cube
