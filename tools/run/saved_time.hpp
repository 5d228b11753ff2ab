// SPDX-License-Identifier: Apache-2.0
// SavedTime: estimates how much longer a job would have run without reading ahead.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace forebay::run {

/// Streams that save time side by side shorten the run only once: the sum of their savings is
/// divided by the mean number of streams that run at the same time. One thread.
class SavedTime {
 public:
  /// A stream of reads from `begin_ns` to `end_ns` would have waited `saved_s` longer.
  void add(std::uint64_t begin_ns, std::uint64_t end_ns, double saved_s);
  double seconds() const;

 private:
  double saved_s_ = 0;
  double streams_s_ = 0;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> intervals_;
};

}  // namespace forebay::run
