// SPDX-License-Identifier: Apache-2.0
#include "format/box_overlap.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace forebay::format {
namespace {

using IndexPair = std::optional<std::pair<std::size_t, std::size_t>>;
using Indices = std::vector<std::size_t>;

constexpr std::size_t kQuadraticMax = 16;  ///< number of boxes that are compared pair by pair

class OverlapSearch {
 public:
  explicit OverlapSearch(std::span<const Box> boxes) : boxes_(boxes) {}

  IndexPair find_in(const Indices& indices) const {
    if (indices.size() <= kQuadraticMax) return compare_all_pairs(indices);
    const std::size_t dimensions = boxes_[indices.front()].start.size();
    for (std::size_t d = 0; d < dimensions; ++d) {
      const auto [before, behind] = split(indices, d);
      // Rejects cuts that split most boxes.
      if (before.size() + behind.size() > indices.size() + indices.size() / 2) continue;
      if (before.size() == indices.size() || behind.size() == indices.size()) continue;
      const IndexPair found = find_in(before);
      return found ? found : find_in(behind);
    }
    return compare_all_pairs(indices);
  }

 private:
  /// The boxes with elements before the median of all starts, and those with elements from there
  /// on.
  std::pair<Indices, Indices> split(const Indices& indices, std::size_t d) const {
    Indices starts;
    for (const std::size_t number : indices)
      starts.push_back(boxes_[number].start[d]);
    const auto middle = starts.begin() + static_cast<std::ptrdiff_t>(starts.size() / 2);
    std::ranges::nth_element(starts, middle);
    std::uint64_t at = *middle;
    // A cut at the smallest start separates nothing, so the next one is used, if there is one.
    const std::uint64_t first = *std::ranges::min_element(starts);
    if (at == first) {
      std::erase(starts, first);
      if (!starts.empty()) at = *std::ranges::min_element(starts);
    }
    std::pair<Indices, Indices> sides;
    for (const std::size_t number : indices) {
      const Box& box = boxes_[number];
      if (box.start[d] < at) sides.first.push_back(number);
      if (box.start[d] + box.count[d] > at) sides.second.push_back(number);
    }
    return sides;
  }

  IndexPair compare_all_pairs(const Indices& indices) const {
    for (std::size_t i = 0; i < indices.size(); ++i)
      for (std::size_t k = i + 1; k < indices.size(); ++k)
        if (has_overlap(boxes_[indices[i]], boxes_[indices[k]]))
          return std::minmax({indices[i], indices[k]});
    return std::nullopt;
  }

  std::span<const Box> boxes_;
};

}  // namespace

std::optional<std::pair<std::size_t, std::size_t>> find_overlap(std::span<const Box> boxes) {
  Indices all(boxes.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return OverlapSearch(boxes).find_in(all);
}

}  // namespace forebay::format
