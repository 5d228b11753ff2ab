// SPDX-License-Identifier: Apache-2.0
// TransferSource: a session or bypass queue, as an agent sees it. It supplies the next transfer and
// takes its result. The agent decides when to read, how many transfers at once, and by which
// interface.
#pragma once

#include <forebay/error.hpp>
#include <forebay/read_plan.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/clock.hpp"
#include "read/bypass_read.hpp"
#include "read/load_scheduler.hpp"
#include "storage/file.hpp"

namespace forebay::read {

class RemoteReader;

class TransferSource {
 public:
  struct Transfer {
    std::uint64_t file_offset = 0;
    std::span<std::byte> memory;
    Load load;
    std::shared_ptr<BypassRead> bypass_read;  ///< null: a load into the window
    bool is_remote = false;                   ///< set if another node reads it
    TimePoint begin = {};                     ///< of a load into the window
  };

  virtual ~TransferSource() = default;

  virtual storage::File& file() const noexcept = 0;
  /// The engine agent splits a transfer into operations of this size or, if those would be too
  /// many, larger ones; 0: it does not split.
  virtual std::uint64_t operation_bytes() const noexcept = 0;
  /// Upper limit of the bytes of a transfer. Has no effect if operation_bytes() is 0.
  virtual std::uint64_t transfer_bytes_max() const noexcept = 0;

  /// Reads parts of the source on other nodes; null: none does.
  virtual RemoteReader* remote_reader() const noexcept { return nullptr; }

  /// The next transfer of at least priority `least`. False: none at present; ReadAgent::notify() is
  /// called when that changes. Any thread.
  virtual bool next_transfer(Transfer& transfer, LoadPriority least) = 0;
  bool next_transfer(Transfer& transfer) { return next_transfer(transfer, LoadPriority::kHint); }
  /// After next_transfer() returned false: latest time to call it again, because a request waits.
  virtual std::optional<TimePoint> retry_at() const { return std::nullopt; }
  /// Takes the result of a transfer. Any thread.
  virtual void finish(const Transfer& transfer, const Result<std::uint64_t>& bytes) = 0;

  /// Does a transfer by a plain read on this thread, and finishes it.
  void read_synchronously(const Transfer& transfer) {
    const Result<std::size_t> got = file().read_at(transfer.memory, transfer.file_offset);
    finish(transfer, got.map([](std::size_t bytes) { return std::uint64_t{bytes}; }));
  }

  /// True if a read is a copy from memory, so that a waiting thread may do it.
  virtual bool is_cached() const noexcept { return false; }
  /// Records that a task's thread has just done some of the agent's work.
  void record_help() noexcept {
    helped_at_.store(std::chrono::steady_clock::now(), std::memory_order_relaxed);
  }
  /// True if a task's thread has done some of the agent's work since `time`.
  bool has_help_since(TimePoint time) const noexcept {
    return helped_at_.load(std::memory_order_relaxed) >= time;
  }

  /// True from a notification until the agent takes the source from its queue.
  std::atomic<bool> is_notified{false};
  /// True while the source is in the engine agent's run queue. For the engine agent's thread alone.
  bool is_in_run_queue = false;

 private:
  alignas(128) std::atomic<TimePoint> helped_at_{TimePoint::min()};
};

}  // namespace forebay::read
