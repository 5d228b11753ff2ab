// SPDX-License-Identifier: Apache-2.0
// A computation in the background of reading tasks: slices of some ten microseconds, one for each
// iteration of the event loop, on the thread of the tasks. It has no thread, so it advances only
// while tasks wait without blocking theirs.
#pragma once

#include <forebay/executor.hpp>

#include <chrono>
#include <coroutine>
#include <cstdint>

#include "bench/frame/clock.hpp"
#include "runner/task.hpp"

namespace forebay::bench::read {

/// A computation of known size.
struct ComputeSlices {
  std::uint64_t count = 0;
};

/// The same computation on this thread alone, without interruption.
void compute_for(std::chrono::milliseconds time);

class BackgroundComputation {
 public:
  /// Computes until that number of readers has ended, for a time, or for a number of slices.
  BackgroundComputation(EventLoop& loop, std::uint64_t readers)
      : loop_(loop), active_readers_(readers) {}
  BackgroundComputation(EventLoop& loop, std::chrono::milliseconds time)
      : loop_(loop), time_(time) {}
  BackgroundComputation(EventLoop& loop, ComputeSlices slices)
      : loop_(loop), slice_limit_(slices) {}
  BackgroundComputation(const BackgroundComputation&) = delete;
  BackgroundComputation& operator=(const BackgroundComputation&) = delete;

  /// The background task; spawn it before the readers.
  runner::Task task();

  /// Reports the end of a reader, on every return path.
  class ActiveReader {
   public:
    /// `computation` null: no computation.
    explicit ActiveReader(BackgroundComputation* computation) noexcept
        : computation_(computation) {}
    ~ActiveReader() {
      if (computation_ != nullptr) --computation_->active_readers_;
    }
    ActiveReader(const ActiveReader&) = delete;
    ActiveReader& operator=(const ActiveReader&) = delete;

   private:
    BackgroundComputation* computation_;
  };

  /// From the task's first slice to its end.
  double slices_per_second() const noexcept { return static_cast<double>(slices_) / seconds_; }

 private:
  bool should_continue(const Stopwatch& watch) const {
    return active_readers_ > 0 || slices_ < slice_limit_.count ||
           watch.seconds() < std::chrono::duration<double>(time_).count();
  }

  EventLoop& loop_;
  std::uint64_t active_readers_ = 0;
  std::chrono::milliseconds time_{0};
  ComputeSlices slice_limit_;
  std::uint64_t slices_ = 0;
  double seconds_ = 0;
  std::uint64_t state_ = 1;  // the result
};

}  // namespace forebay::bench::read
