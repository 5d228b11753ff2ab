// SPDX-License-Identifier: Apache-2.0
#include "stream/stream_timer.hpp"

#include <algorithm>

namespace forebay::stream {

namespace {

std::atomic<std::uint64_t> timer_count{0};

TimePoint now() noexcept { return SteadyClock::shared().now(); }

double seconds(std::chrono::nanoseconds time) noexcept {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

StreamTimer::StreamTimer() : id_(++timer_count) {}

void StreamTimer::begin() noexcept {
  const std::lock_guard lock(mutex_);
  if (has_begun_.load()) return;
  first_acquire_.store(now());
  has_begun_.store(true);
}

TimePoint StreamTimer::note_submitted() {
  // A thread that submits to one stream at a time is counted once, and takes no lock after that.
  static thread_local std::uint64_t counted_by = 0;
  if (counted_by != id_) {
    const std::lock_guard lock(mutex_);
    producers_.insert(std::this_thread::get_id());
    counted_by = id_;
  }
  const TimePoint time = now();
  last_submission_.store(time);
  return time;
}

void StreamTimer::note_written(std::uint64_t bytes) noexcept {
  ++buffers_;
  bytes_ += bytes;
  const TimePoint time = now();
  const std::lock_guard lock(mutex_);
  last_written_ = std::max(last_written_, time);
}

void StreamTimer::note_busy(TimePoint time) noexcept {
  const std::lock_guard lock(mutex_);
  if (busy_devices_++ == 0) busy_since_ = time;
}

void StreamTimer::note_idle(TimePoint time) noexcept {
  const std::lock_guard lock(mutex_);
  if (--busy_devices_ == 0) busy_ += time - busy_since_;
}

StreamTimer::Times StreamTimer::times() const {
  const std::lock_guard lock(mutex_);
  Times times{.buffers = buffers_.load(), .bytes = bytes_.load()};
  times.wait_s = seconds(std::chrono::nanoseconds(wait_ns_.load()));
  times.busy_s = seconds(busy_ + (busy_devices_ > 0 ? now() - busy_since_ : busy_.zero()));
  if (producers_.empty()) return times;
  const auto producing = last_submission_.load() - first_acquire_.load();
  const double waited_s = times.wait_s / static_cast<double>(producers_.size());
  times.producing_s = std::max(0.0, seconds(producing) - waited_s);
  if (times.buffers > 0) times.elapsed_s = seconds(last_written_ - first_acquire_.load());
  return times;
}

}  // namespace forebay::stream
