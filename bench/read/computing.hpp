// SPDX-License-Identifier: Apache-2.0
// A computation in the background of tasks that read: slices of some ten microseconds, one each
// time the loop comes round, on the thread of the tasks. It has no thread of its own, so it goes on
// only while tasks wait without blocking theirs.
#pragma once

#include <forebay/executor.hpp>

#include <chrono>
#include <coroutine>
#include <cstdint>

#include "bench/frame/clock.hpp"
#include "runner/task.hpp"

namespace forebay::bench::read {

/// A computation of known size.
struct Slices {
  std::uint64_t count = 0;
};

/// The same on this thread alone, without a break.
void compute_for(std::chrono::milliseconds time);

class Computing {
 public:
  /// Until as many readers have ended, or, without any, for a time, or until so much is computed.
  Computing(EventLoop& loop, std::uint64_t readers) : loop_(loop), readers_left_(readers) {}
  Computing(EventLoop& loop, std::chrono::milliseconds time) : loop_(loop), time_(time) {}
  Computing(EventLoop& loop, Slices slices) : loop_(loop), wanted_(slices) {}
  Computing(const Computing&) = delete;
  Computing& operator=(const Computing&) = delete;

  /// The background task; spawn it before the readers.
  runner::Task task();

  /// Says that a reader ended, whichever way it left.
  class Reader {
   public:
    /// `computing` null: nobody computes.
    explicit Reader(Computing* computing) noexcept : computing_(computing) {}
    ~Reader() {
      if (computing_ != nullptr) --computing_->readers_left_;
    }
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;

   private:
    Computing* computing_;
  };

  /// From the task's first slice to its end.
  double slices_per_second() const noexcept { return static_cast<double>(slices_) / seconds_; }

 private:
  bool goes_on(const Stopwatch& watch) const {
    return readers_left_ > 0 || slices_ < wanted_.count ||
           watch.seconds() < std::chrono::duration<double>(time_).count();
  }

  EventLoop& loop_;
  std::uint64_t readers_left_ = 0;
  std::chrono::milliseconds time_{0};
  Slices wanted_;
  std::uint64_t slices_ = 0;
  double seconds_ = 0;
  std::uint64_t state_ = 1;  // what is computed
};

}  // namespace forebay::bench::read
