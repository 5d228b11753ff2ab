// SPDX-License-Identifier: Apache-2.0
// The fewest of something that are enough, where more are never worse. By halving, as each question
// may be a run of many.
#pragma once

#include <cstdint>

namespace forebay::model {

/// The smallest number from 1 to `most` for which enough(number) is true, or `most` if it is true
/// for none below. Once true, enough() must stay true as numbers grow.
template <class Enough>
std::uint64_t fewest(std::uint64_t most, const Enough& enough) {
  std::uint64_t low = 1;
  std::uint64_t high = most;
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (enough(middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

}  // namespace forebay::model
