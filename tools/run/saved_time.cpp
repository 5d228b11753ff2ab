// SPDX-License-Identifier: Apache-2.0
#include "tools/run/saved_time.hpp"

#include <algorithm>

namespace forebay::run {

void SavedTime::add(std::uint64_t begin_ns, std::uint64_t end_ns, double saved_s) {
  if (saved_s <= 0 || end_ns <= begin_ns) return;
  saved_s_ += saved_s;
  streams_s_ += static_cast<double>(end_ns - begin_ns) / 1e9;
  intervals_.emplace_back(begin_ns, end_ns);
}

double SavedTime::seconds() const {
  auto intervals = intervals_;
  std::ranges::sort(intervals);
  double covered_s = 0;
  std::uint64_t reached = 0;
  for (const auto& [begin, end] : intervals) {
    if (end <= reached) continue;
    covered_s += static_cast<double>(end - std::max(begin, reached)) / 1e9;
    reached = end;
  }
  return streams_s_ > 0 ? saved_s_ * covered_s / streams_s_ : 0;
}

}  // namespace forebay::run
