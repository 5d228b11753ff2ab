// SPDX-License-Identifier: Apache-2.0
// PreExecution: runs a function of the program that yields its coming reads, ahead of the reads.
// For reads that depend on data, which no predictor can learn.
//
// Source: pre-execution prefetching (Chen, Byna, Sun, Thakur, Gropp, SC'08); the two modes are
// those of The Server-Push I/O Architecture for High-End Computing (Sun, Gropp, Thakur).
#pragma once

#include <forebay/detail/origin_process.hpp>
#include <forebay/error.hpp>
#include <forebay/range.hpp>
#include <forebay/read_plan.hpp>
#include <forebay/session.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>

#include "base/clock.hpp"
#include "push/predictor.hpp"

namespace forebay::push {

/// Any thread. Ranges wait in a queue until the program has read them. In a child of fork() all
/// calls do nothing.
///
/// The function has a thread of its own, which shares no lock with readers: with kIdle it can be
/// preempted at any time for any duration. A second thread with normal scheduling calls `push`.
class PreExecution {
 public:
  /// Upper limit of ranges in the queue. The function pauses at the limit, until half are read.
  static constexpr std::uint32_t kReadsAheadMax = 256;
  /// Reads in a row without a range in the queue after which the function counts as overtaken.
  static constexpr unsigned kMissesMax = 16;
  /// Ranges in a row that are dropped, after which the function counts as failed.
  static constexpr unsigned kDropsMax = 4096;
  /// For which the destructor waits for the function.
  static constexpr std::chrono::seconds kReturnTimeout{1};

  struct Options {
    PreExecutionMode mode = PreExecutionMode::kThread;
    std::uint32_t ahead_max = kReadsAheadMax;  ///< rounded up to a power of two
    ByteRange extent = {0, kAll};              ///< ranges that are empty or not inside are dropped
    std::string path = {};                     ///< of the file, for Errors
    /// Receives each range that the program has not read yet, on one thread of Forebay. Must not
    /// throw.
    std::function<void(ByteRange)> push;
    /// Receives faults, from that thread and from the destructor. kException or
    /// kInvalidArgument: the function threw, or yields useless ranges, and is not called again.
    /// kLimit: it did not return. kUnsupported: the system refuses kIdle; kThread is in force.
    std::function<void(const Error&)> report;
  };

  /// Calls `next_read` on a thread from now on. Fails with kLimit if threads cannot be started.
  static Result<detail::OriginPointer<PreExecution>> start(NextRead next_read, Options options);
  /// As cancel(). Waits for a callback in progress, and at most a second for `next_read` to return.
  /// Reports kLimit if it does not; its thread then ends with that call. Not from a callback. The
  /// function may own the last reference: on its thread, nothing is waited for.
  ~PreExecution();
  PreExecution(const PreExecution&) = delete;
  PreExecution& operator=(const PreExecution&) = delete;

  /// The program reads `read`. Drops ranges that precede the first range with bytes of it, and
  /// those that it completes. Never waits for the function.
  void observe(ByteRange read);
  /// Stores the ranges that the program has not read yet, nearest first. Returns their number.
  std::size_t predict(std::span<Prediction> into) const;
  /// Empties the queue. The function is not called again. Does not wait for callbacks.
  void cancel();

  /// True after kMissesMax reads without a range in the queue, which cancel the function. Reads
  /// before its first range do not count.
  bool is_overtaken() const noexcept { return is_overtaken_.load(std::memory_order_relaxed); }
  std::uint64_t dropped_count() const noexcept;
  /// The destructor waits until then, instead of a second: so the ends of several take one second.
  void set_return_deadline(TimePoint when) noexcept { return_deadline_ = when; }
  /// True once the function is destroyed and no callback runs any more: the destructor does not
  /// wait.
  bool has_ended() const noexcept;
  /// Whether the calling thread runs a function of a PreExecution: its reads are not those of the
  /// program.
  static bool is_function_thread() noexcept;

 private:
  struct Shared;
  explicit PreExecution(Options options);
  static void run_function(Shared& shared, const NextRead& next_read);
  void push_ranges();
  std::optional<ByteRange> next_unpushed();
  void report(ErrorDetails details) const;

  const Options options_;
  const detail::OriginProcess origin_;
  const std::shared_ptr<Shared> shared_;  ///< with the function's thread
  std::atomic<bool> is_overtaken_{false};
  mutable std::mutex mutex_;      ///< guards what follows, except threads
  std::uint32_t pushed_end_ = 0;  ///< number of the next range to push
  unsigned misses_ = 0;           ///< in a row
  std::optional<TimePoint> return_deadline_;
  std::thread function_thread_;
  std::thread push_thread_;
};

}  // namespace forebay::push
