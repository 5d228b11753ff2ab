// SPDX-License-Identifier: Apache-2.0
// StagingPool: memory in segments, into which put() copies blocks and a writer receives bytes. Its
// size is a hard bound, so a program that outruns storage waits here. Its segments are reused,
// because page faults of new memory cost more than the copy.
#pragma once

#include <forebay/error.hpp>
#include <forebay/log.hpp>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "shm/buffer_allocator.hpp"
#include "shm/node_memory.hpp"

namespace forebay::write {

struct StagingPoolOptions {
  std::uint64_t memory_bytes = 0;   ///< the bound, rounded down to whole segments; one or more
  std::uint64_t segment_bytes = 0;  ///< a multiple of 4 KiB
  /// Size that a separate thread prefaults after the creation. acquire() prefaults memory beyond it
  /// when that is first needed.
  std::uint64_t prefault_bytes = std::uint64_t{256} << 20U;
  /// Lends memory, which may already be prefaulted, until the pool ends. Null: the pool allocates
  /// and frees its memory.
  std::shared_ptr<shm::BufferAllocator> source = nullptr;
  /// Receives a line for each `log_interval` that a call of acquire() has waited; null: no logging.
  LogSink* log = nullptr;
  std::chrono::nanoseconds log_interval = std::chrono::seconds(10);
};

struct StagingPoolCounts {
  std::uint32_t segments = 0;    ///< maximum number, from the bound
  std::uint32_t prefaulted = 0;  ///< that have memory, until the pool ends
  std::uint32_t in_use = 0;      ///< now
  std::uint32_t in_use_max = 0;  ///< at any time
  std::uint64_t waits = 0;       ///< calls of acquire() that had to wait for release()
};

/// Segments of one memory, which the processes of the node can map. Any thread.
class StagingPool {
 public:
  /// Reserves only addresses; memory is allocated when it is prefaulted. Fails with
  /// kInvalidArgument for invalid sizes, and with kLimit if there are no addresses, descriptors or
  /// threads.
  static Result<std::shared_ptr<StagingPool>> create(const StagingPoolOptions& options);
  /// All segments must have been released, or their bytes must not be needed any more.
  ~StagingPool();
  StagingPool(const StagingPool&) = delete;
  StagingPool& operator=(const StagingPool&) = delete;

  /// Returns the first of `count` adjacent segments; if several single ones are free, the last one
  /// released. Waits for at most `wait_max`, then fails with kLimit and the bytes in use. After
  /// cancel(), fails with its Error. If the machine has no memory left and no segment is in use,
  /// fails with kLimit at once. The pool must have `count` segments.
  Result<std::uint32_t> acquire(std::chrono::nanoseconds wait_max, std::uint32_t count = 1);
  /// As acquire(), without waiting for a release; it may prefault memory in the calling thread.
  std::optional<std::uint32_t> try_acquire(std::uint32_t count = 1) noexcept;
  /// Wakes one waiter. The bytes of the segments may be overwritten from now on.
  void release(std::uint32_t segment, std::uint32_t count = 1) noexcept;

  /// The bytes of adjacent segments, at a multiple of 4 KiB. They have their previous content.
  std::span<std::byte> segment(std::uint32_t segment, std::uint32_t count = 1) const noexcept;
  std::uint64_t segment_bytes() const noexcept { return segment_bytes_; }
  /// The number of segments that `bytes` occupy.
  std::uint32_t segments_for(std::uint64_t bytes) const noexcept {
    return static_cast<std::uint32_t>((bytes + segment_bytes_ - 1) / segment_bytes_);
  }

  /// Ends all waits: acquire() fails with `why` from now on. The first call counts. release() still
  /// works. Also calls the callback of set_free_callback().
  void cancel(Error why) noexcept;
  /// The Error of cancel(), if it was called.
  std::optional<Error> cancel_error() const;

  /// After try_acquire() or acquire() has found no segment, `callback` is called once when a
  /// segment may be free. It runs on the thread that released the segment or called cancel(), or on
  /// the prefault thread, without the lock. It must not block, nor release the last reference to
  /// the pool. With a callback, all calls of acquire() and try_acquire() must come from one thread.
  /// A call that prefaults segments does not call `callback`, so a second thread that has found
  /// none would not be notified. Replaces the previous callback, which may still be running on
  /// another thread.
  void set_free_callback(std::function<void()> callback);

  const shm::MemoryHandle& handle() const noexcept { return memory_.handle(); }
  std::span<std::byte> memory() const noexcept {
    return memory_.bytes().first(segment_count_ * segment_bytes_);
  }
  StagingPoolCounts counts() const;

 private:
  StagingPool(shm::MemoryRegion region, const StagingPoolOptions& options);
  static Result<shm::MemoryRegion> allocate_memory(const StagingPoolOptions& options,
                                                   std::uint64_t size_bytes);
  void prefault(std::uint64_t bytes) noexcept;
  bool prefault_next(std::unique_lock<std::mutex>& lock);
  std::optional<std::uint32_t> wait_for_prefault(std::unique_lock<std::mutex>& lock,
                                                 std::uint32_t count);
  std::optional<std::uint32_t> find_free(std::uint32_t count) const noexcept;
  std::uint32_t take(std::uint32_t first, std::uint32_t count) noexcept;
  void notify_starved(std::unique_lock<std::mutex>& lock) noexcept;
  std::string usage_text() const;
  void log_wait(std::unique_lock<std::mutex>& lock, std::chrono::nanoseconds waited) const;
  Error exhausted_error(std::chrono::nanoseconds waited) const;

  const std::shared_ptr<shm::BufferAllocator> source_;
  shm::NodeMemory memory_;
  const std::uint64_t initial_prefaulted_bytes_;  ///< by the previous user of the memory
  const std::uint64_t segment_bytes_;
  const std::uint32_t segment_count_;
  const std::uint32_t prefault_segments_;  // that are prefaulted together
  LogSink* const log_;
  const std::chrono::nanoseconds log_interval_;

  mutable std::mutex mutex_;
  std::condition_variable freed_;
  std::vector<std::uint32_t> free_;  // the last one is acquired first
  std::vector<bool> is_in_use_;
  bool is_prefaulting_ = false;  // a thread prefaults the next segments
  StagingPoolCounts counts_;
  std::optional<Error> memory_error_;
  std::optional<Error> cancel_error_;
  std::shared_ptr<const std::function<void()>> free_callback_;
  bool has_failed_acquire_ = false;
  bool is_ending_ = false;
  std::thread prefault_thread_;
};

}  // namespace forebay::write
