// SPDX-License-Identifier: Apache-2.0
// SessionCore: a read session as tasks see it. Finding bytes that are there is the same in every
// process: look into the residency table, pin, take. What happens when they are not there depends
// on where the session is read: here (SessionHost), or by the agent of this node, perhaps in
// another process (SessionGuest). Requests hold no state here: each is a question to the table, so
// dropping one needs no clean-up.
#pragma once

#include <forebay/executor.hpp>
#include <forebay/future.hpp>
#include <forebay/origin_process.hpp>
#include <forebay/plan.hpp>
#include <forebay/session.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "read/geometry.hpp"
#include "read/need.hpp"
#include "read/private_read.hpp"
#include "read/schedule.hpp"
#include "shm/session_books.hpp"
#include "storage/file.hpp"

namespace forebay::read {

/// Whether what a request needs is there.
enum class Presence : std::uint8_t {
  kReady,    ///< pin it
  kComing,   ///< it is wanted, loading, or was queued just now
  kStarved,  ///< views hold all memory, or the splinter cannot be read whole: read it privately
};

class SessionCore : public std::enable_shared_from_this<SessionCore> {
 public:
  /// What does not change while a session is open.
  struct Facts {
    std::shared_ptr<storage::File> file;
    ByteRange extent;
    ReadPlan plan;  ///< complete
    Executor* executor = nullptr;
    SessionHandle handle = {};
  };

  SessionCore(const SessionCore&) = delete;
  SessionCore& operator=(const SessionCore&) = delete;
  virtual ~SessionCore();

  const Geometry& geometry() const noexcept { return geometry_; }
  const ReadPlan& plan() const noexcept { return facts_.plan; }
  const std::string& path() const noexcept { return facts_.file->path(); }
  const SessionHandle& handle() const noexcept { return facts_.handle; }
  Executor& executor() const noexcept { return *facts_.executor; }
  storage::File& file() const noexcept { return *facts_.file; }
  /// How many splinters a large request should ask for before it has taken the first.
  std::uint32_t ahead_splinters() const noexcept { return ahead_splinters_; }

  // Bytes that are there. Any thread.

  /// Pins a splinter if the bytes of `part` are there.
  bool pin(SplinterIndex splinter, ValidBytes part) noexcept {
    const shm::Splinter& entry = books_[splinter];
    const shm::Ledger::Pin pinned = books_.ledger().pin(entry, row_);
    if (pinned == shm::Ledger::Pin::kHeld) {
      if (entry.valid().covers(part)) return true;
      unpin(splinter, 0);
    } else if (pinned == shm::Ledger::Pin::kRetracted) {
      tell_of_released_memory();
    }
    return false;
  }
  /// Gives a pin back; `served_bytes` of the splinter need not be kept for the one who held it.
  void unpin(SplinterIndex splinter, std::uint32_t served_bytes) noexcept {
    const std::uint32_t slot = books_[splinter].slot();
    const shm::Mark::Word after = books_.ledger().at(row_, slot).remove_pin(served_bytes);
    if (after.pins() != 0) return;
    const shm::Stall stall = books_.header().stall.load(std::memory_order_seq_cst);
    if (stall != shm::Stall::kNone) released(splinter, slot, stall);
  }
  /// The first byte of a pinned splinter's slot.
  const std::byte* address(SplinterIndex splinter) const noexcept {
    const std::byte* const base = slots_base_.load(std::memory_order_acquire);
    return base + (std::uint64_t{books_[splinter].slot()} << splinter_shift_);
  }
  /// The first byte of a run of pinned splinters if their slots follow each other, else null.
  const std::byte* run_address(SplinterIndex first, SplinterIndex last) noexcept;
  /// Which bytes of a pinned splinter are there.
  ValidBytes valid(SplinterIndex splinter) const noexcept { return books_[splinter].valid(); }

  // Bytes that are not. Any thread.

  /// Finds out whether the part is there, and asks for it unless that was done. Numbers a need that
  /// is waited for. Fails with kClosed.
  virtual Result<Presence> want(Need& need, Urgency urgency) = 0;
  /// Asks for the part without wanting to know anything.
  virtual void hint(const Need& need, Urgency urgency) = 0;
  /// Registers `waiter` for the next change of a splinter that is coming. False if something
  /// changed already.
  virtual bool arm(Need& need, detail::Waiter& waiter) = 0;
  virtual void disarm(SplinterIndex splinter, detail::Waiter& waiter) noexcept = 0;
  /// A thread could get no further without this splinter: loads it, or another one, right here if
  /// that cannot wait on a device. True if it loaded any.
  virtual bool help(Need& need, detail::Help how) = 0;
  /// Reads a range into memory of its own, past the window.
  virtual std::shared_ptr<PrivateRead> read_privately(ByteRange range) = 0;
  /// A view was answered with a copy because its splinters lie apart.
  virtual void count_copied(std::uint64_t bytes) = 0;

  virtual SessionReport report() const = 0;
  /// Not in a child of fork().
  virtual void close() = 0;
  /// Also in a child of fork().
  bool closed() const noexcept {
    return closed_.load(std::memory_order_relaxed) || !origin_.is_current();
  }
  bool is_from_parent() const noexcept { return !origin_.is_current(); }
  Error closed_error() const;
  Error no_memory_error(const ByteRange& range) const;

 protected:
  /// The window as it is mapped twice in a row, for a number of slots; kept until the end, as views
  /// may lie in old ones.
  struct RingMapping {
    const std::byte* base = nullptr;
    std::uint32_t slots = 0;
  };

  explicit SessionCore(Facts facts);

  /// Whose row of the ledger is ours. Both before anybody uses the session.
  void set_books(const shm::SessionBooks& books, std::uint32_t row) noexcept {
    books_ = books;
    row_ = row;
  }
  /// From now on slots are found from there on.
  void set_slots_base(const std::byte* base) noexcept {
    slots_base_.store(base, std::memory_order_release);
  }
  /// From now on runs are found there. One thread at a time.
  void add_ring(const RingMapping& ring);
  const shm::SessionBooks& books() const noexcept { return books_; }
  std::uint32_t row() const noexcept { return row_; }

  /// The window has `slots` slots now: add_ring(), if that can be. Where the window is read it is
  /// mapped already.
  virtual void follow_growth(std::uint32_t /*slots*/) noexcept {}
  /// Memory was given back that the reading side may have waited for.
  virtual void tell_of_released_memory() noexcept = 0;

  std::atomic<bool> closed_{false};  // written by close() alone

 private:
  void released(SplinterIndex splinter, std::uint32_t slot, shm::Stall stall) noexcept;

  const detail::OriginProcess origin_;
  const Facts facts_;
  const Geometry geometry_;
  const unsigned splinter_shift_;
  const std::uint32_t ahead_splinters_;
  shm::SessionBooks books_;
  std::uint32_t row_ = 0;
  std::atomic<const std::byte*> slots_base_{nullptr};
  std::atomic<const RingMapping*> ring_{nullptr};
  std::deque<RingMapping> rings_;
};

}  // namespace forebay::read
