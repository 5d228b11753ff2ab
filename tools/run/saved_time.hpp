// SPDX-License-Identifier: Apache-2.0
// SavedTime: estimates how much longer a job would have run without reading ahead.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace forebay::run {

/// Streams that save time side by side shorten the run only once: the sum of their savings is
/// divided by the mean number of streams that run at the same time. One thread.
class SavedTime {
 public:
  /// Streams that are kept, so that a long job needs no more memory.
  static constexpr std::size_t kIntervalsMax = 16'384;

  /// A stream of reads from `begin_ns` to `end_ns` would have waited `saved_s` longer.
  void add(std::uint64_t begin_ns, std::uint64_t end_ns, double saved_s);
  double seconds() const;

 private:
  void cover(std::size_t count);

  double saved_s_ = 0;
  double streams_s_ = 0;
  double covered_s_ = 0;       ///< by the streams that are not in intervals_
  std::uint64_t reached_ = 0;  ///< end of the last one of these
  std::vector<std::pair<std::uint64_t, std::uint64_t>> intervals_;
};

}  // namespace forebay::run
