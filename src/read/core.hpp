// SPDX-License-Identifier: Apache-2.0
// SessionCore: what all handles, requests, views and the agent of one read session share: the
// window, the residency table, the schedule behind one lock, and those who wait. Requests hold no
// state here: each is a question to the residency table, so dropping one needs no clean-up.
#pragma once

#include <forebay/executor.hpp>
#include <forebay/future.hpp>
#include <forebay/log.hpp>
#include <forebay/plan.hpp>
#include <forebay/session.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "read/geometry.hpp"
#include "read/private_read.hpp"
#include "read/schedule.hpp"
#include "read/window_pool.hpp"
#include "shm/residency.hpp"
#include "storage/file.hpp"

namespace forebay::read {

class Agent;

/// Whether what a request needs is there.
enum class Presence : std::uint8_t {
  kReady,    ///< pin it
  kComing,   ///< it is wanted, loading, or was queued just now
  kStarved,  ///< views hold all memory, or the splinter cannot be read whole: read it privately
};

class SessionCore : public std::enable_shared_from_this<SessionCore> {
 public:
  struct Setup {
    std::shared_ptr<storage::File> file;
    ByteRange extent;
    ReadPlan plan;  ///< complete
    std::shared_ptr<WindowPool> windows;
    std::shared_ptr<Agent> agent;
    Executor* executor = nullptr;
    bool cached = false;  ///< reading it is copying from the page cache, as far as can be told
    SessionHandle handle = {};
  };

  /// Takes memory from the pool. Reading starts when the agent is told (Agent::serve).
  static Result<std::shared_ptr<SessionCore>> open(const Setup& setup);
  ~SessionCore();

  const Geometry& geometry() const noexcept { return geometry_; }
  const ReadPlan& plan() const noexcept { return plan_; }
  const std::string& path() const noexcept { return file_->path(); }
  const SessionHandle& handle() const noexcept { return handle_; }
  Executor& executor() const noexcept { return *executor_; }
  storage::File& file() const noexcept { return *file_; }
  /// How many splinters a large request should ask for before it has taken the first.
  std::uint32_t ahead_splinters() const noexcept { return ahead_splinters_; }

  // For tasks, on any thread.

  /// Pins a splinter if the bytes of `part` are there.
  bool pin(SplinterIndex splinter, ValidBytes part) noexcept;
  /// Gives a pin back; `served_bytes` of the splinter need not be kept for the one who held it.
  void unpin(SplinterIndex splinter, std::uint32_t served_bytes) noexcept;
  /// The first byte of a pinned splinter's slot.
  const std::byte* address(SplinterIndex splinter) const noexcept;
  /// The first byte of a run of pinned splinters if their slots follow each other, else null.
  const std::byte* run_address(SplinterIndex first, SplinterIndex last) const noexcept;
  /// Which bytes of a pinned splinter are there.
  ValidBytes valid(SplinterIndex splinter) const noexcept { return table_[splinter].valid(); }

  /// Finds out whether `part` is there, and asks for it if nobody has. Fails with kClosed.
  Result<Presence> want(SplinterIndex splinter,
                        ValidBytes part,
                        Urgency urgency,
                        Precision precision);
  /// Asks for `part` without wanting to know anything.
  void hint(SplinterIndex splinter, ValidBytes part, Urgency urgency, Precision precision);
  /// A view was answered with a copy because its splinters lie apart.
  void count_copied(std::uint64_t bytes);
  /// Registers `waiter` for the next change of a splinter that is coming. False if something
  /// changed already.
  bool arm(SplinterIndex splinter, ValidBytes part, Precision precision, detail::Waiter& waiter);
  void disarm(SplinterIndex splinter, detail::Waiter& waiter) noexcept;
  /// A thread would block on this splinter: loads it, or another one, right here if that cannot
  /// wait on a device. True if it loaded any.
  bool help(SplinterIndex splinter, ValidBytes part, Precision precision);
  /// Reads a range into memory of its own, past the window.
  std::shared_ptr<PrivateRead> read_privately(ByteRange range);

  SessionReport report() const;
  void close();
  Error closed_error() const;
  Error no_memory_error(const ByteRange& range) const;
  bool closed() const noexcept { return closed_.load(std::memory_order_relaxed); }

  // For the agent.

  struct Transfer {
    std::uint64_t file_offset = 0;
    std::span<std::byte> memory;
    Load load;
    std::shared_ptr<PrivateRead> copy;  ///< null: a load into the window
  };
  /// The next thing to read that is at least so urgent. False: nothing now; the agent is told
  /// (Agent::serve) when that changes.
  bool next_transfer(Transfer& transfer, Urgency least = Urgency::kHint);
  /// If next_transfer() gave nothing: when to try again at the latest, as somebody waits.
  std::optional<TimePoint> retry_at() const;
  /// True if reading this session's file is copying, so that a thread with nothing else to do may
  /// do it.
  bool cached() const noexcept { return cached_; }
  /// A task's thread did some of the agent's work just now / has done any since then.
  void note_help() noexcept;
  bool helped_since(TimePoint time) const noexcept;
  /// Does a transfer by plain reading, and finishes it.
  void copy(const Transfer& transfer);
  /// The outcome of a transfer. Any thread.
  void finish(const Transfer& transfer, const Result<std::uint64_t>& bytes);

  /// True while the agent knows that there is something to look at here.
  std::atomic<bool> announced{false};
  /// True while it is among those that the agent looks at next. For the engine agent's thread
  /// alone.
  bool due = false;

 private:
  /// The window as it is mapped for a number of slots; kept until the end, as views may lie in old
  /// ones.
  struct Mapping {
    std::byte* base = nullptr;
    std::uint32_t slots = 0;
  };
  /// Somebody who waits for a splinter, and for how much of it.
  struct Waiting {
    detail::Waiter* waiter = nullptr;
    std::uint32_t bytes = 0;
  };
  /// What a task that gives memory back must do about the agent.
  enum class Stall : std::uint8_t { kNone, kUntilRetired, kUntilReleased };

  SessionCore(const Setup& setup, WindowPool::Lease lease);
  Status map_first();
  Schedule::Verdict next_load(Load& load, Urgency least);
  void grow();
  void starve(SplinterIndex splinter);
  void signal_waiters(SplinterIndex splinter);
  Result<Presence> want_locked(SplinterIndex splinter,
                               ValidBytes part,
                               Urgency urgency,
                               Precision precision);
  void finish_load(const Load& load, const Result<std::uint64_t>& bytes);
  Error short_file_error(std::uint64_t missing_byte) const;
  Transfer transfer_of(const Load& load) const;
  void rest();
  void give_memory_back();
  void wake_agent();

  const std::shared_ptr<storage::File> file_;
  const ReadPlan plan_;
  const Geometry geometry_;
  const std::shared_ptr<Agent> agent_;
  Executor* const executor_;
  const bool cached_;
  const SessionHandle handle_;
  const std::uint32_t ahead_splinters_;
  std::vector<shm::Splinter> table_;
  std::atomic<const Mapping*> mapping_{nullptr};
  alignas(128) std::atomic<Stall> stall_{Stall::kNone};
  alignas(128) std::atomic<TimePoint> helped_at_{TimePoint::min()};

  mutable std::mutex mutex_;  // guards all that follows
  WindowPool::Lease lease_;
  std::deque<Mapping> mappings_;
  Schedule schedule_;
  std::unordered_map<SplinterIndex, std::vector<Waiting>> waiters_;
  std::unordered_set<SplinterIndex> unreadable_;
  std::unordered_map<SplinterIndex, std::uint32_t>
      starved_;  // and how many requests are yet to be told
  std::deque<std::shared_ptr<PrivateRead>> private_reads_;
  SessionReport counts_;
  std::atomic<bool> closed_{false};  // written under the lock, read by tasks without it
};

}  // namespace forebay::read
