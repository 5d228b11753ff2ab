// SPDX-License-Identifier: Apache-2.0
// Staging: the memory into which blocks are copied that the application keeps. Its size is a bound
// that holds, so whoever outruns storage meets it here; its segments are used over and over, since
// fresh memory costs more than the copy.
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

#include "shm/buffer_source.hpp"
#include "shm/node_memory.hpp"

namespace forebay::write {

struct StagingOptions {
  std::uint64_t memory_bytes = 0;   ///< the bound; rounded down to whole segments, at least one
  std::uint64_t segment_bytes = 0;  ///< a multiple of 4 KiB
  /// Made ready by a thread of its own when it is made; what is beyond costs whoever takes it
  /// first.
  std::uint64_t ready_bytes = std::uint64_t{256} << 20U;
  /// Where memory is looked for that is ready already, and goes in the end; null: it is made, and
  /// dropped.
  std::shared_ptr<shm::BufferSource> source = nullptr;
  /// Receives a line each time a call of take() has waited for another `quiet_wait`; null: none.
  LogSink* log = nullptr;
  std::chrono::nanoseconds quiet_wait = std::chrono::seconds(10);
};

struct StagingCounts {
  std::uint32_t segments = 0;   ///< that there can be
  std::uint32_t ready = 0;      ///< that have memory; they keep it to the end
  std::uint32_t taken = 0;      ///< now
  std::uint32_t taken_max = 0;  ///< at any time
  std::uint64_t waits = 0;      ///< calls of take() that had to wait for give_back()
};

/// Segments of one memory that the processes of the node can map. Any thread may call anything.
class Staging {
 public:
  /// Costs no more than addresses: memory comes later. Fails with kInvalidArgument for sizes that
  /// cannot work, with kLimit if there are no addresses, descriptors or threads.
  static Result<std::shared_ptr<Staging>> make(const StagingOptions& options);
  /// All segments must be back, or their bytes be wanted by nobody.
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  /// A segment, the last one that was given back where there is a choice. Waits for one as long as
  /// `wait_max`. Fails with kLimit after that, saying how much is in use; with the Error of
  /// cancel(); and with kLimit if the machine has no memory left and no segment is there to wait
  /// for.
  Result<std::uint32_t> take(std::chrono::nanoseconds wait_max);
  /// The same without ever waiting for others; it may make memory ready itself.
  std::optional<std::uint32_t> try_take() noexcept;
  /// Wakes one of those who wait. Its bytes may be overwritten from now on.
  void give_back(std::uint32_t segment) noexcept;

  /// The bytes of a segment, at a multiple of 4 KiB. They have what was in it before.
  std::span<std::byte> segment(std::uint32_t segment) const noexcept;
  std::uint64_t segment_bytes() const noexcept { return segment_bytes_; }

  /// Ends all waits, now and later: nobody gets a segment any more. The first call counts. Giving
  /// back goes on working. Tells on_free(), too, so that its owner finds out.
  void cancel(Error why) noexcept;
  /// Why it was cancelled.
  std::optional<Error> cancelled() const;

  /// `tell` is called once after try_take() or take() found nothing, when that may be different, on
  /// the thread that gives a segment back and under no lock. It must not block, nor let go of the
  /// last reference. Replaces the one before, which may still be running on another thread.
  void on_free(std::function<void()> tell);

  const shm::MemoryName& name() const noexcept { return memory_.name(); }
  std::span<std::byte> memory() const noexcept {
    return memory_.bytes().first(segment_count_ * segment_bytes_);
  }
  StagingCounts counts() const;

 private:
  Staging(shm::MemoryLoan loan, const StagingOptions& options);
  static Result<shm::MemoryLoan> take_memory(const StagingOptions& options,
                                             std::uint64_t size_bytes);
  void make_ready(std::uint64_t bytes) noexcept;
  bool make_chunk(std::unique_lock<std::mutex>& lock);
  bool find_free(std::unique_lock<std::mutex>& lock);
  std::uint32_t hand_out() noexcept;
  void tell_starved(std::unique_lock<std::mutex>& lock) noexcept;
  std::string usage() const;
  void log_wait(std::chrono::nanoseconds waited) const;
  Error exhausted(std::chrono::nanoseconds waited) const;

  const std::shared_ptr<shm::BufferSource> source_;
  shm::NodeMemory memory_;
  const std::uint64_t ready_before_bytes_;  ///< by the loan that had the memory before
  const std::uint64_t segment_bytes_;
  const std::uint32_t segment_count_;
  const std::uint32_t chunk_segments_;  // are made ready together
  LogSink* const log_;
  const std::chrono::nanoseconds quiet_wait_;

  mutable std::mutex mutex_;
  std::condition_variable freed_;
  std::vector<std::uint32_t> free_;  // the last one is handed out first
  std::vector<bool> is_taken_;
  bool is_making_ = false;  // somebody is making the next chunk ready
  StagingCounts counts_;
  std::optional<Error> no_memory_;
  std::optional<Error> cancelled_;
  std::shared_ptr<const std::function<void()>> tell_;
  bool is_starved_ = false;
  bool is_ending_ = false;
  std::thread preparer_;
};

}  // namespace forebay::write
