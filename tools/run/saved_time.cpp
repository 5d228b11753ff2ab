// SPDX-License-Identifier: Apache-2.0
#include "tools/run/saved_time.hpp"

#include <algorithm>

namespace forebay::run {

void SavedTime::add(std::uint64_t begin_ns, std::uint64_t end_ns, double saved_s) {
  if (saved_s <= 0 || end_ns <= begin_ns) return;
  saved_s_ += saved_s;
  streams_s_ += static_cast<double>(end_ns - begin_ns) / 1e9;
  intervals_.emplace_back(begin_ns, end_ns);
  if (intervals_.size() == kIntervalsMax) cover(kIntervalsMax / 2);
}

/// Removes the `count` earliest intervals.
void SavedTime::cover(std::size_t count) {
  std::ranges::sort(intervals_);
  const auto end_of_count = intervals_.begin() + static_cast<std::ptrdiff_t>(count);
  for (auto one = intervals_.begin(); one != end_of_count; ++one) {
    const auto [begin, end] = *one;
    if (end <= reached_) continue;
    covered_s_ += static_cast<double>(end - std::max(begin, reached_)) / 1e9;
    reached_ = end;
  }
  intervals_.erase(intervals_.begin(), end_of_count);
}

double SavedTime::seconds() const {
  SavedTime all = *this;
  all.cover(all.intervals_.size());
  return streams_s_ > 0 ? saved_s_ * all.covered_s_ / streams_s_ : 0;
}

}  // namespace forebay::run
