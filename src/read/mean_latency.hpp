// SPDX-License-Identifier: Apache-2.0
// MeanLatency: recent mean time of the loads of a session, as an exponential moving average.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "base/clock.hpp"

namespace forebay::read {

class MeanLatency {
 public:
  /// A load that began at `begin` ends now. One thread at a time.
  void record_end(TimePoint begin) noexcept {
    const std::chrono::nanoseconds latency = std::chrono::steady_clock::now() - begin;
    const std::int64_t mean = mean_ns_.load(std::memory_order_relaxed);
    mean_ns_.store(mean == 0 ? latency.count() : mean + (latency.count() - mean) / kShare,
                   std::memory_order_relaxed);
  }
  /// 0: no load has ended. Any thread.
  std::chrono::nanoseconds value() const noexcept {
    return std::chrono::nanoseconds(mean_ns_.load(std::memory_order_relaxed));
  }

 private:
  static constexpr std::int64_t kShare = 8;  ///< 1 / this is the weight of a load

  std::atomic<std::int64_t> mean_ns_{0};
};

}  // namespace forebay::read
