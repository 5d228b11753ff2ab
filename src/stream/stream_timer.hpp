// SPDX-License-Identifier: Apache-2.0
// StreamTimer: how a stream spends its time: producing, waiting for buffers, writing. Reads the
// clock only where something begins or ends.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <set>
#include <thread>

#include "base/clock.hpp"

namespace forebay::stream {

/// Any thread.
class StreamTimer {
 public:
  StreamTimer();

  /// A thread requests a buffer.
  void note_acquire() noexcept {
    if (!has_begun_.load(std::memory_order_relaxed)) begin();
  }
  /// It waited this time for it.
  void note_wait(std::chrono::nanoseconds waited) noexcept { wait_ns_ += waited.count(); }
  /// A thread submits a buffer; returns the time.
  TimePoint note_submitted();
  /// This many bytes of a buffer are written.
  void note_written(std::uint64_t bytes) noexcept;
  /// Storage begins, or ends, to work for the stream on one more device.
  void note_busy(TimePoint now) noexcept;
  void note_idle(TimePoint now) noexcept;

  struct Times {
    std::uint64_t buffers = 0;
    std::uint64_t bytes = 0;
    double producing_s = 0;  ///< from the first request to the last submission, less waiting
    double busy_s = 0;       ///< in which storage worked
    double wait_s = 0;       ///< of all threads
    double elapsed_s = 0;    ///< from the first request to the last buffer written
  };
  Times times() const;

 private:
  void begin() noexcept;

  static_assert(std::atomic<TimePoint>::is_always_lock_free);
  const std::uint64_t id_;
  std::atomic<bool> has_begun_{false};
  std::atomic<TimePoint> first_acquire_{};
  std::atomic<TimePoint> last_submission_{};
  std::atomic<std::int64_t> wait_ns_{0};
  std::atomic<std::uint64_t> buffers_{0};
  std::atomic<std::uint64_t> bytes_{0};
  mutable std::mutex mutex_;  // guards the following members
  std::set<std::thread::id> producers_;
  unsigned busy_devices_ = 0;
  TimePoint busy_since_;
  std::chrono::nanoseconds busy_{0};
  TimePoint last_written_;
};

}  // namespace forebay::stream
