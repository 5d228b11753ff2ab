// SPDX-License-Identifier: Apache-2.0
#include "format/box_overlap.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace forebay::format {
namespace {

using Pair = std::optional<std::pair<std::size_t, std::size_t>>;
using Numbers = std::vector<std::size_t>;

constexpr std::size_t kCompared = 16;  ///< so many each with each

class Search {
 public:
  explicit Search(std::span<const Box> boxes) : boxes_(boxes) {}

  Pair among(const Numbers& numbers) const {
    if (numbers.size() <= kCompared) return each_with_each(numbers);
    const std::size_t dimensions = boxes_[numbers.front()].start.size();
    for (std::size_t d = 0; d < dimensions; ++d) {
      const auto [before, behind] = cut(numbers, d);
      // A cut that goes through most of them is none.
      if (before.size() + behind.size() > numbers.size() + numbers.size() / 2) continue;
      if (before.size() == numbers.size() || behind.size() == numbers.size()) continue;
      const Pair found = among(before);
      return found ? found : among(behind);
    }
    return each_with_each(numbers);
  }

 private:
  /// Those that have elements before the middle one of all starts, and those that have some from
  /// there on.
  std::pair<Numbers, Numbers> cut(const Numbers& numbers, std::size_t d) const {
    Numbers starts;
    for (const std::size_t number : numbers)
      starts.push_back(boxes_[number].start[d]);
    const auto middle = starts.begin() + static_cast<std::ptrdiff_t>(starts.size() / 2);
    std::ranges::nth_element(starts, middle);
    std::uint64_t at = *middle;
    // The first of all starts cuts off nothing: the next one, if there is one.
    const std::uint64_t first = *std::ranges::min_element(starts);
    if (at == first) {
      std::erase(starts, first);
      if (!starts.empty()) at = *std::ranges::min_element(starts);
    }
    std::pair<Numbers, Numbers> sides;
    for (const std::size_t number : numbers) {
      const Box& box = boxes_[number];
      if (box.start[d] < at) sides.first.push_back(number);
      if (box.start[d] + box.count[d] > at) sides.second.push_back(number);
    }
    return sides;
  }

  Pair each_with_each(const Numbers& numbers) const {
    for (std::size_t i = 0; i < numbers.size(); ++i)
      for (std::size_t k = i + 1; k < numbers.size(); ++k)
        if (intersect(boxes_[numbers[i]], boxes_[numbers[k]]))
          return std::minmax({numbers[i], numbers[k]});
    return std::nullopt;
  }

  std::span<const Box> boxes_;
};

}  // namespace

std::optional<std::pair<std::size_t, std::size_t>> find_overlap(std::span<const Box> boxes) {
  Numbers all(boxes.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return Search(boxes).among(all);
}

}  // namespace forebay::format
