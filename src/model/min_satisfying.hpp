// SPDX-License-Identifier: Apache-2.0
// min_satisfying(): the smallest sufficient number, if larger numbers are never worse. By
// bisection, because each test may be a simulation of many runs.
#pragma once

#include <cstdint>

namespace forebay::model {

/// The smallest number from 1 to `max` for which is_sufficient(number) is true, or `max` if it is
/// true for no smaller one. If it is true for a number, it must be true for all larger ones.
template <class Enough>
std::uint64_t min_satisfying(std::uint64_t max, const Enough& is_sufficient) {
  std::uint64_t low = 1;
  std::uint64_t high = max;
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (is_sufficient(middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

}  // namespace forebay::model
