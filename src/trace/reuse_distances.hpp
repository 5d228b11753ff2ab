// SPDX-License-Identifier: Apache-2.0
// reuse_distances(): after how many accesses the same place is accessed again.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace forebay::trace {

/// For each access that has the key of an earlier one: number of accesses since the last of these.
/// In no particular order. Sorts: no content of a trace makes it slow, as it could with a hash.
template <class Access, class Key>
std::vector<std::size_t> reuse_distances(std::span<const Access> accesses, const Key& key) {
  const auto key_at = [&](std::size_t at) { return std::invoke(key, accesses[at]); };
  std::vector<std::size_t> order(accesses.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](std::size_t at) { return std::pair(key_at(at), at); });
  std::vector<std::size_t> distances;
  for (std::size_t i = 1; i < order.size(); ++i)
    if (key_at(order[i]) == key_at(order[i - 1])) distances.push_back(order[i] - order[i - 1]);
  return distances;
}

}  // namespace forebay::trace
