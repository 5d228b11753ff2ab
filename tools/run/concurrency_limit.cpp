// SPDX-License-Identifier: Apache-2.0
#include "tools/run/concurrency_limit.hpp"

#include <algorithm>
#include <chrono>

namespace forebay::run {

namespace {

/// A period has this number of reads for each that may be in progress.
constexpr unsigned kPeriodReads = 3;
/// A limit that is larger by half is kept if the throughput grows by more than this factor.
constexpr double kWorthwhile = 1.15;
constexpr unsigned kPausePeriods = 64;
/// A read costs a storage as much as this number of bytes, and its own bytes.
constexpr double kReadBytes = 64 * 1024;

}  // namespace

void ConcurrencyLimit::record(std::uint64_t bytes, TimePoint now, unsigned in_progress) noexcept {
  if (in_progress < limit_) {
    reads_ = 0;
    return;
  }
  if (reads_++ == 0) {
    begin_ = now;
    work_ = 0;
    return;
  }
  work_ += 1 + static_cast<double>(bytes) / kReadBytes;
  if (reads_ <= kPeriodReads * limit_) return;
  reads_ = 0;
  const double seconds = std::chrono::duration<double>(now - begin_).count();
  if (seconds > 0) judge(work_ / seconds);
}

void ConcurrencyLimit::judge(double throughput) noexcept {
  if (limit_ > accepted_ && throughput < accepted_throughput_ * kWorthwhile) {
    limit_ = accepted_;
    pause_ = kPausePeriods;
    return;
  }
  accepted_ = limit_;
  accepted_throughput_ = throughput;
  if (pause_ > 0)
    --pause_;
  else
    limit_ = std::min(limit_ + limit_ / 2, kMax);
}

}  // namespace forebay::run
