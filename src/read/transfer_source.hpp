// SPDX-License-Identifier: Apache-2.0
// TransferSource: what an agent reads for. It says what is to be read next and takes the outcome;
// when, how many at once and by which interface is the agent's business.
#pragma once

#include <forebay/error.hpp>
#include <forebay/plan.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/clock.hpp"
#include "read/private_read.hpp"
#include "read/schedule.hpp"
#include "storage/file.hpp"

namespace forebay::read {

class RemoteReader;

class TransferSource {
 public:
  struct Transfer {
    std::uint64_t file_offset = 0;
    std::span<std::byte> memory;
    Load load;
    std::shared_ptr<PrivateRead> copy;  ///< null: a load into the window
    bool by_other_node = false;         ///< set by who has it read there
  };

  virtual ~TransferSource() = default;

  virtual storage::File& file() const noexcept = 0;
  /// One transfer is cut into operations of this size; 0: it is not.
  virtual std::uint64_t operation_bytes() const noexcept = 0;
  /// More than any transfer has.
  virtual std::uint64_t transfer_bytes_max() const noexcept = 0;

  /// Who reads parts of it on other nodes; null if nobody does.
  virtual RemoteReader* remote() const noexcept { return nullptr; }

  /// The next thing to read that is at least so urgent. False: nothing now; the agent is told
  /// (Agent::serve) when that changes. Any thread.
  virtual bool next_transfer(Transfer& transfer, Urgency least) = 0;
  bool next_transfer(Transfer& transfer) { return next_transfer(transfer, Urgency::kHint); }
  /// If next_transfer() gave nothing: when to try again at the latest, as somebody waits.
  virtual std::optional<TimePoint> retry_at() const { return std::nullopt; }
  /// The outcome of a transfer. Any thread.
  virtual void finish(const Transfer& transfer, const Result<std::uint64_t>& bytes) = 0;

  /// Does a transfer by plain reading, and finishes it.
  void copy(const Transfer& transfer) {
    const Result<std::size_t> got = file().read_at(transfer.memory, transfer.file_offset);
    finish(transfer, got.map([](std::size_t bytes) { return std::uint64_t{bytes}; }));
  }

  /// True if reading is copying, so that a thread with nothing else to do may do it.
  virtual bool cached() const noexcept { return false; }
  /// A task's thread did some of the agent's work just now / has done any since then.
  void note_help() noexcept {
    helped_at_.store(std::chrono::steady_clock::now(), std::memory_order_relaxed);
  }
  bool helped_since(TimePoint time) const noexcept {
    return helped_at_.load(std::memory_order_relaxed) >= time;
  }

  /// True while the agent knows that there is something to look at here.
  std::atomic<bool> announced{false};
  /// True while it is among those that the agent looks at next. For the engine agent's thread
  /// alone.
  bool due = false;

 private:
  alignas(128) std::atomic<TimePoint> helped_at_{TimePoint::min()};
};

}  // namespace forebay::read
