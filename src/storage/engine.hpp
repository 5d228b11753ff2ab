// SPDX-License-Identifier: Apache-2.0
// Engine: completes transfers on any backend. It resubmits short ones, retries EINTR and EAGAIN,
// splits those longer than one system call may move, and finds the end of the file. It converts
// errno into Errors with path and offset. So this code exists, and is tested, once.
#pragma once

#include <forebay/error.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "storage/backend.hpp"
#include "storage/transfer_progress.hpp"

namespace forebay::storage {

struct EngineOptions {
  std::size_t queue_depth = 64;  ///< maximum of operations in flight; reduced to the backend's
                                 ///< capacity
  /// EAGAIN is retried after this time, then after twice as long, and so on, up to the total limit.
  std::chrono::microseconds retry_first_us{100};
  std::chrono::microseconds retry_total_us_max{5'000'000};
  const Clock* clock = nullptr;  ///< for the back-off; null: the steady clock
};

/// The outcome of one operation: the number of bytes moved. A short read has reached the end of the
/// file; a write moves all bytes or is an error; sync and allocate give 0.
struct Completion {
  std::uint64_t tag = 0;
  Result<std::uint64_t> bytes = 0;
};

/// Operations on any number of files, submitted in batches and completed in any order.
///
/// Single issuer: one thread, the one that created the backend, makes all calls but wake(). Only
/// Errors allocate after the constructor. The destructor waits until no operation uses its memory
/// any more; results are dropped.
class Engine {
 public:
  explicit Engine(std::unique_ptr<Backend> backend, EngineOptions options = {});
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Starts operations in the given order and returns how many were accepted: fewer than all when
  /// capacity() is reached, which is the caller's back-pressure. Each accepted one gives exactly
  /// one Completion. Its file must be accepted (can_submit()); file and memory must live until
  /// then. Direct transfers must be aligned. Does not wait for storage, but the file system may
  /// block.
  std::size_t submit(std::span<const Operation> operations);

  /// As submit(), but operations may start as late as in the next wait(): one system call instead
  /// of two for an issuer that waits right after this.
  std::size_t enqueue(std::span<const Operation> operations);

  /// Blocks until an operation is complete, wake() was called, the watched descriptor is readable
  /// or the deadline has passed. Returns the number of completions stored: all available ones, if
  /// they fit; 0 after wake(), the deadline or the descriptor. It also waits with nothing in flight
  /// (for wake() and the descriptor). kDoNotBlock collects available ones. `completions` is not
  /// empty. With small requests, pass room for a few only: the issuer then refills storage sooner.
  std::size_t wait(std::span<Completion> completions, Deadline deadline);

  /// Makes one wait(), the current or the next one, return. Any thread; never blocks.
  void wake() noexcept;

  /// Makes wait() return also while this descriptor is readable. See Backend::watch().
  Status watch(int descriptor) { return backend_->watch(descriptor); }

  /// True if a wait() since the last call of this found the watched descriptor readable. The owner
  /// handles the descriptor only then, and need not call this after each wait(): no event is lost.
  bool consume_watch_event() noexcept { return std::exchange(is_watched_readable_, false); }

  /// Operations that only wait for a retry after EAGAIN fail with it in the next wait(), and so do
  /// later ones. For an owner that is closing.
  void stop_retries() noexcept { are_retries_stopped_ = true; }

  std::size_t in_flight() const noexcept { return slots_.size() - free_.size(); }
  std::size_t capacity() const noexcept { return slots_.size(); }
  bool can_submit(const File& file) const noexcept { return backend_->can_submit(file); }
  std::string_view backend_name() const noexcept { return backend_->name(); }

  /// See Backend::register_buffers and Backend::unregister_buffers.
  Status register_buffers(std::span<std::byte> arena) { return backend_->register_buffers(arena); }
  void unregister_buffers(std::span<const std::byte> arena) noexcept {
    backend_->unregister_buffers(arena);
  }

 private:
  /// One operation in flight. At most one attempt of it is at the backend.
  struct Slot {
    Operation operation;
    TransferProgress progress;
    std::chrono::microseconds backoff_us{0};
    TimePoint first_eagain;  ///< time of the first EAGAIN; meaningful if backoff_us > 0
    TimePoint retry_at;
    std::uint64_t attempt_bytes_max = 0;  ///< limit of one attempt, after EIO; 0: all missing bytes
  };

  /// When attempts must reach storage.
  enum class SubmitMode : std::uint8_t { kImmediate, kDeferred };

  std::size_t allocate_slots(std::span<const Operation> operations);
  Operation next_attempt(std::uint32_t index) const noexcept;
  void submit_attempts(SubmitMode start);
  void requeue_due_retries();
  std::size_t fail_retries(std::span<Completion> completions);
  std::size_t handle_completions(std::span<const RawCompletion> raw,
                                 std::span<Completion> completions);
  std::optional<Completion> handle_completion(const RawCompletion& raw);
  std::optional<Completion> handle_transfer(std::uint32_t index, std::uint64_t moved_bytes);
  std::optional<Completion> handle_error(std::uint32_t index, int error_number);
  bool retry_later(std::uint32_t index);
  bool retry_smaller(std::uint32_t index);
  Completion finish(std::uint32_t index, Result<std::uint64_t> bytes);
  Error error_of(const Slot& slot, int error_number) const;
  Deadline earliest_deadline(Deadline deadline) const noexcept;

  std::unique_ptr<Backend> backend_;
  const EngineOptions options_;
  const Clock& clock_;
  std::atomic<bool> is_woken_{false};
  bool is_watched_readable_ = false;
  bool are_retries_stopped_ = false;
  // The constructor reserves capacity() entries for all of these: no allocation later.
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;      ///< slots without an operation
  std::vector<std::uint32_t> ready_;     ///< slots whose next attempt is not at the backend yet
  std::vector<std::uint32_t> retrying_;  ///< slots that wait for retry_at
  std::vector<Operation> batch_;
  std::vector<RawCompletion> raw_;
};

}  // namespace forebay::storage
