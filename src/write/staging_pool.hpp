// SPDX-License-Identifier: Apache-2.0
// StagingPool: memory into which blocks are copied that the application keeps. Its size is a hard
// bound, so a program that outruns storage waits here. Its segments are reused, because fresh
// memory costs more than the copy.
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
  /// Prefaulted by a separate thread when the pool is created. The first use of memory beyond it
  /// costs its user the page faults.
  std::uint64_t prefault_bytes = std::uint64_t{256} << 20U;
  /// Source of memory that may be prefaulted already, and its destination at the end. Null: memory
  /// is allocated, and freed.
  std::shared_ptr<shm::BufferAllocator> source = nullptr;
  /// Receives a line each time a call of acquire() has waited for another `log_interval`; null:
  /// none.
  LogSink* log = nullptr;
  std::chrono::nanoseconds log_interval = std::chrono::seconds(10);
};

struct StagingPoolCounts {
  std::uint32_t segments = 0;    ///< that there can be
  std::uint32_t prefaulted = 0;  ///< that have memory; they keep it to the end
  std::uint32_t in_use = 0;      ///< now
  std::uint32_t in_use_max = 0;  ///< at any time
  std::uint64_t waits = 0;       ///< calls of acquire() that had to wait for release()
};

/// Segments of one memory that the processes of the node can map. Any thread.
class StagingPool {
 public:
  /// Costs only addresses; memory follows later. Fails with kInvalidArgument for sizes that cannot
  /// work, and with kLimit if there are no addresses, descriptors or threads.
  static Result<std::shared_ptr<StagingPool>> create(const StagingPoolOptions& options);
  /// All segments must have been released, or their bytes must not be needed any more.
  ~StagingPool();
  StagingPool(const StagingPool&) = delete;
  StagingPool& operator=(const StagingPool&) = delete;

  /// A segment; if several are free, the last one released. Waits for one for at most `wait_max`,
  /// then fails with kLimit; the text has the bytes in use. Fails with the Error of cancel(). Fails
  /// with kLimit if the machine has no memory left and no segment is in use whose release could end
  /// the wait.
  Result<std::uint32_t> acquire(std::chrono::nanoseconds wait_max);
  /// As acquire(), without waiting for a release; it may prefault memory in the calling thread.
  std::optional<std::uint32_t> try_acquire() noexcept;
  /// Wakes one waiter. The bytes of the segment may be overwritten from now on.
  void release(std::uint32_t segment) noexcept;

  /// The bytes of a segment, at a multiple of 4 KiB. They have their previous content.
  std::span<std::byte> segment(std::uint32_t segment) const noexcept;
  std::uint64_t segment_bytes() const noexcept { return segment_bytes_; }

  /// Ends all waits, now and later: acquire() fails from now on. The first call counts. release()
  /// still works. Also calls the callback of set_free_callback(), so that its owner notices.
  void cancel(Error why) noexcept;
  /// The Error of cancel(), if it was called.
  std::optional<Error> cancel_error() const;

  /// `callback` is called once after try_acquire() or acquire() found no segment, when that may
  /// have changed. It runs on the thread that released or prefaulted a segment, or canceled, and
  /// without the lock. It must not block, nor release the last reference to the pool. Replaces the
  /// previous callback, which may still be running on another thread.
  void set_free_callback(std::function<void()> callback);

  const shm::MemoryHandle& name() const noexcept { return memory_.handle(); }
  std::span<std::byte> memory() const noexcept {
    return memory_.bytes().first(segment_count_ * segment_bytes_);
  }
  StagingPoolCounts counts() const;

 private:
  StagingPool(shm::MemoryRegion region, const StagingPoolOptions& options);
  static Result<shm::MemoryRegion> allocate_memory(const StagingPoolOptions& options,
                                                   std::uint64_t size_bytes);
  void prefault(std::uint64_t bytes) noexcept;
  bool prefault_chunk(std::unique_lock<std::mutex>& lock);
  bool wait_for_prefault(std::unique_lock<std::mutex>& lock);
  std::uint32_t pop_free() noexcept;
  void notify_starved(std::unique_lock<std::mutex>& lock) noexcept;
  std::string usage_text() const;
  void log_wait(std::chrono::nanoseconds waited) const;
  Error exhausted_error(std::chrono::nanoseconds waited) const;

  const std::shared_ptr<shm::BufferAllocator> source_;
  shm::NodeMemory memory_;
  const std::uint64_t initial_prefaulted_bytes_;  ///< by the previous user of the memory
  const std::uint64_t segment_bytes_;
  const std::uint32_t segment_count_;
  const std::uint32_t chunk_segments_;  // that are prefaulted together
  LogSink* const log_;
  const std::chrono::nanoseconds log_interval_;

  mutable std::mutex mutex_;
  std::condition_variable freed_;
  std::vector<std::uint32_t> free_;  // the last one is acquired first
  std::vector<bool> is_in_use_;
  bool is_prefaulting_ = false;  // a thread prefaults the next chunk
  StagingPoolCounts counts_;
  std::optional<Error> memory_error_;
  std::optional<Error> cancel_error_;
  std::shared_ptr<const std::function<void()>> free_callback_;
  bool has_failed_acquire_ = false;
  bool is_ending_ = false;
  std::thread prefault_thread_;
};

}  // namespace forebay::write
