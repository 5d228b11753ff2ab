// SPDX-License-Identifier: Apache-2.0
// ConcurrencyLimit: how many reads a storage serves at the same time, found while it works: the
// limit grows as long as the throughput grows with it.
#pragma once

#include <cstdint>

#include "base/clock.hpp"

namespace forebay::run {

/// One thread at a time.
class ConcurrencyLimit {
 public:
  static constexpr unsigned kFirst = 24;
  static constexpr unsigned kMax = 128;

  unsigned value() const noexcept { return limit_; }
  /// A read of `bytes` has ended, while `in_progress` were in progress. Only with value() of them
  /// the throughput shows what the limit permits.
  void record(std::uint64_t bytes, TimePoint now, unsigned in_progress) noexcept;

 private:
  void judge(double throughput) noexcept;

  unsigned limit_ = kFirst;
  unsigned accepted_ = kFirst;  ///< the largest one that was worthwhile
  double accepted_throughput_ = 0;
  unsigned pause_ = 0;  ///< periods until a larger limit is tried again
  // Of the present period.
  TimePoint begin_ = {};
  unsigned reads_ = 0;
  double work_ = 0;
};

}  // namespace forebay::run
