// SPDX-License-Identifier: Apache-2.0
// SessionCore: a read session as tasks see it. Reading resident bytes is the same in every process:
// look up the residency table, pin, copy or return a view. A miss is handled by an agent of this
// process (LocalSession), or by the node's agent, perhaps in another process (MappedSession). The
// session keeps no state of a request: each poll checks the residency table again. So a dropped
// request needs no cleanup.
#pragma once

#include <forebay/detail/origin_process.hpp>
#include <forebay/executor.hpp>
#include <forebay/future.hpp>
#include <forebay/read_plan.hpp>
#include <forebay/session.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "read/access_observer.hpp"
#include "read/bypass_read.hpp"
#include "read/geometry.hpp"
#include "read/load_scheduler.hpp"
#include "read/splinter_request.hpp"
#include "shm/session_control_block.hpp"
#include "storage/file.hpp"

namespace forebay::read {

/// Result of SessionCore::request().
enum class Availability : std::uint8_t {
  kReady,    ///< resident: pin it
  kPending,  ///< queued or loading
  /// Read a private copy. Views pin all slots, or the splinter cannot be read whole. Or this
  /// process has kPinsMax pins on its slot, or the node's agent has ended.
  kBypassRequired,
};

/// Functions that the agent's process runs for a session of this process. Any thread.
class RemotePreExecution {
 public:
  virtual ~RemotePreExecution() = default;
  /// Starts a named function, in place of an earlier one. Waits for the agent's reply.
  virtual Status start(std::string_view name, std::span<const std::byte> argument) = 0;
  /// The program makes its read number `position`.
  virtual void observe(const ByteRange& read, std::uint64_t position) = 0;
};

class SessionCore : public std::enable_shared_from_this<SessionCore> {
 public:
  /// Constant while a session is open.
  struct Properties {
    std::shared_ptr<storage::File> file;
    ByteRange extent;
    ReadPlan plan;  ///< no open values
    Executor* executor = nullptr;
    SessionHandle handle = {};
  };

  SessionCore(const SessionCore&) = delete;
  SessionCore& operator=(const SessionCore&) = delete;
  virtual ~SessionCore();

  const Geometry& geometry() const noexcept { return geometry_; }
  const ReadPlan& plan() const noexcept { return properties_.plan; }
  const std::string& path() const noexcept { return properties_.file->path(); }
  const SessionHandle& handle() const noexcept { return properties_.handle; }
  Executor& executor() const noexcept { return *properties_.executor; }
  storage::File& file() const noexcept { return *properties_.file; }
  /// Number of splinters beyond the current one that a large request requests ahead.
  std::uint32_t lookahead_splinters() const noexcept { return lookahead_splinters_; }

  // Access to resident bytes. Any thread.

  /// Pins a splinter. True if the bytes of `part` are resident; else the splinter is not pinned.
  bool pin(SplinterIndex splinter, SplinterPart part) noexcept {
    if (!is_window_current()) return false;
    const shm::ResidencyEntry& entry = control_block_[splinter];
    const shm::RefCounts::PinResult pinned = control_block_.ref_counts().pin(entry, client_index_);
    if (pinned == shm::RefCounts::PinResult::kPinned) {
      if (entry.valid().covers(part)) return true;
      unpin(splinter, 0);
    } else if (pinned == shm::RefCounts::PinResult::kRetracted) {
      notify_memory_released();
    }
    return false;
  }
  /// Releases a pin, and counts `served_bytes` of the splinter as served: the owner of the pin does
  /// not read them again.
  void unpin(SplinterIndex splinter, std::uint32_t served_bytes) noexcept {
    const std::uint32_t slot = control_block_[splinter].slot();
    const shm::SlotRefCount::Word after =
        control_block_.ref_counts().at(client_index_, slot).remove_pin(served_bytes);
    if (after.pins() != 0) return;
    const shm::MemoryWait memory_wait =
        control_block_.header().memory_wait.load(std::memory_order_seq_cst);
    if (memory_wait != shm::MemoryWait::kNone) handle_unpin(splinter, slot, memory_wait);
  }
  /// First byte of the slot of a pinned splinter.
  const std::byte* address(SplinterIndex splinter) const noexcept {
    const std::byte* const base = slots_base_.load(std::memory_order_acquire);
    return base + (std::uint64_t{control_block_[splinter].slot()} << splinter_shift_);
  }
  /// First byte of a run of pinned splinters, from `first` to `last`, inclusive, if their slots are
  /// contiguous, else null.
  const std::byte* run_address(SplinterIndex first, SplinterIndex last) noexcept;
  /// Resident bytes of a pinned splinter.
  SplinterPart valid_bytes(SplinterIndex splinter) const noexcept {
    return control_block_[splinter].valid();
  }

  // Requests for bytes that are not resident. Any thread.

  /// Returns whether the part is resident, and queues a load of it unless one is queued or in
  /// flight. Sets request.sequence if the priority is at least kAwaited. Fails with kClosed.
  virtual Result<Availability> request(SplinterRequest& request, LoadPriority priority) = 0;
  /// Queues a load of the part and returns no result.
  virtual void enqueue_load(const SplinterRequest& request, LoadPriority priority) = 0;
  /// Registers `waiter` for the next change of a pending splinter. False if it has already changed.
  virtual bool arm(SplinterRequest& request, detail::Waiter& waiter) = 0;
  virtual void disarm(SplinterIndex splinter, detail::Waiter& waiter) noexcept = 0;
  /// For a thread that cannot continue without this splinter: loads it, or another one, on this
  /// thread. With Help::kAny it may wait for a device; otherwise it only copies from the page
  /// cache. True if it loaded one.
  virtual bool help(SplinterRequest& request, detail::Help how) = 0;
  /// Reads a range into memory outside the window.
  virtual std::shared_ptr<BypassRead> start_bypass_read(ByteRange range) = 0;
  /// Counts a view that is returned as a copy because the slots of its splinters are not
  /// contiguous.
  virtual void record_view_copy(std::uint64_t bytes) = 0;

  // Reading ahead by prediction. Any thread.

  /// Queues loads that no task waits for. `position` is the number of accesses so far.
  virtual void push(std::span<const SplinterRequest> requests, std::uint64_t position) = 0;
  /// Drops those of push() that have not begun.
  virtual void cancel_push(std::span<const SplinterIndex> splinters) = 0;
  /// Bytes of the file have changed: later requests read them again. Views stay unchanged. May wait
  /// for the node's agent, which notifies those of other nodes.
  virtual void invalidate(ByteRange range) = 0;
  /// Recent mean time of a load; 0: unknown.
  virtual std::chrono::nanoseconds load_latency() const = 0;
  /// Null if the agent of this session is in this process.
  virtual RemotePreExecution* remote_preexecution() noexcept { return nullptr; }
  /// What a contiguous request loads that misses.
  void set_granularity(LoadGranularity granularity) noexcept {
    granularity_.store(granularity, std::memory_order_relaxed);
  }
  LoadGranularity granularity() const noexcept {
    return granularity_.load(std::memory_order_relaxed);
  }

  /// The observer of all requests of tasks; null: none. Set it before any other thread uses the
  /// session.
  void set_observer(std::unique_ptr<AccessObserver> observer) noexcept {
    observer_ = std::move(observer);
  }
  AccessObserver* observer() const noexcept { return observer_.get(); }
  /// State of the bytes of a range inside the extent, not empty.
  AccessOutcome outcome_of(const ByteRange& range) const noexcept;

  /// Called once, when the session is closed, with the bytes that were delivered. Set it before any
  /// other thread uses the session.
  void set_on_closed(std::function<void(std::uint64_t)> on_closed) noexcept {
    on_closed_ = std::move(on_closed);
  }

  /// All counts, also those of the observer.
  SessionReport report() const;
  /// Must not be called in a child of fork().
  void close();
  /// May be called in a child of fork().
  bool is_closed() const noexcept {
    return is_closed_.load(std::memory_order_relaxed) || !origin_.is_current();
  }
  bool is_from_parent() const noexcept { return !origin_.is_current(); }
  Error closed_error() const;
  Error no_memory_error(const ByteRange& range) const;

 protected:
  /// One double mapping of the window, for a number of slots. All mappings are kept until the end:
  /// views may point into old ones.
  struct WindowMapping {
    const std::byte* base = nullptr;
    std::uint32_t slots = 0;
  };

  /// `properties.plan` has no open values.
  explicit SessionCore(Properties properties);

  /// `client_index` is the row of the reference counts that this process uses. Call it before any
  /// other thread uses the session.
  void set_control_block(const shm::SessionControlBlock& control_block,
                         std::uint32_t client_index) noexcept {
    control_block_ = control_block;
    client_index_ = client_index;
  }
  /// Sets the address of slot 0.
  void set_slots_base(const std::byte* base) noexcept {
    slots_base_.store(base, std::memory_order_release);
  }
  /// Sets the mapping in which run_address() finds runs. One thread at a time.
  void add_mapping(const WindowMapping& mapping);
  const shm::SessionControlBlock& control_block() const noexcept { return control_block_; }
  std::uint32_t client_index() const noexcept { return client_index_; }

  virtual SessionReport make_report() const = 0;
  virtual void close_session() = 0;

  /// False once bytes of the file may change without a change of the window: it must not be read.
  bool is_window_current() const noexcept {
    return is_window_current_.load(std::memory_order_relaxed);
  }
  void abandon_window() noexcept { is_window_current_.store(false, std::memory_order_relaxed); }

  /// Called when the window has grown to `slots` slots: calls add_mapping() if it can map them. In
  /// the agent's process that mapping exists already, so it does nothing.
  virtual void map_grown_window(std::uint32_t /*slots*/) noexcept {}
  /// Called when memory was released for which the agent may be waiting.
  virtual void notify_memory_released() noexcept = 0;

  std::atomic<bool> is_closed_{false};  // written only by close()

 private:
  void handle_unpin(SplinterIndex splinter,
                    std::uint32_t slot,
                    shm::MemoryWait memory_wait) noexcept;

  const detail::OriginProcess origin_;
  const Properties properties_;
  const Geometry geometry_;
  const unsigned splinter_shift_;
  const std::uint32_t lookahead_splinters_;
  shm::SessionControlBlock control_block_;
  std::uint32_t client_index_ = 0;
  std::atomic<const std::byte*> slots_base_{nullptr};
  std::atomic<const WindowMapping*> mapping_{nullptr};
  std::deque<WindowMapping> mappings_;
  std::atomic<bool> is_window_current_{true};
  std::atomic<LoadGranularity> granularity_{LoadGranularity::kSplinter};
  std::unique_ptr<AccessObserver> observer_;
  std::function<void(std::uint64_t)> on_closed_;
  std::atomic<bool> is_close_reported_{false};
};

}  // namespace forebay::read
