// SPDX-License-Identifier: Apache-2.0
// Completes transfers, whatever backend makes the attempts: resubmits short ones, retries EINTR and
// EAGAIN, cuts what is longer than one system call may move, finds the end of the file, and turns
// errno into Errors with path and offset. It exists so that this is written, and tested, once.
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
  std::size_t queue_depth = 64;  ///< operations in flight at most; cut to the backend's capacity
  /// EAGAIN is tried again after this time, then after twice as long, and so on, up to the limit in
  /// all.
  std::chrono::microseconds retry_first_us{100};
  std::chrono::microseconds retry_total_us_max{5'000'000};
  const Clock* clock = nullptr;  ///< for the back-off; the steady clock if null
};

/// The outcome of one operation: how many bytes were moved. A read that gives fewer than asked for
/// met the end of the file; a write gives all or an error; sync and allocate give 0.
struct Completion {
  std::uint64_t tag = 0;
  Result<std::uint64_t> bytes = 0;
};

/// Operations on any number of files, started in batches and collected as they finish, in any
/// order.
///
/// Single issuer: one thread, the one that made the backend, makes all calls but wake(). Nothing
/// allocates after the constructor except Errors. The destructor waits until no operation touches
/// memory any more; results are dropped.
class Engine {
 public:
  explicit Engine(std::unique_ptr<Backend> backend, EngineOptions options = {});
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Starts operations in the given order and returns how many were taken: fewer than all when
  /// capacity() is reached, which is the caller's back-pressure. Each one taken gives exactly one
  /// Completion. Files must be accepted (accepts()); files and memory must live until then. Direct
  /// transfers must be aligned. Does not wait for storage, but the file system may block.
  std::size_t submit(std::span<const Operation> operations);

  /// As submit(), but they may start as late as with the next wait(): one system call in place of
  /// two for an issuer that waits right after this.
  std::size_t enqueue(std::span<const Operation> operations);

  /// Blocks until something is complete, wake() was called, the watched descriptor is readable or
  /// the deadline has passed. Returns how many completions were stored: all that are there, if they
  /// fit; 0 if woken, late or called by the descriptor. With nothing in flight it waits all the
  /// same (for wake() and the descriptor). kDoNotBlock collects what is there. `completions` is not
  /// empty; an issuer of small requests keeps storage busier with room for few of them than for
  /// all.
  std::size_t wait(std::span<Completion> completions, Deadline deadline);

  /// Makes one wait(), the current or the next one, return. Any thread; never blocks.
  void wake() noexcept;

  /// Makes wait() return when this descriptor is readable as well, for as long as it is. See
  /// Backend::watch().
  Status watch(int descriptor) { return backend_->watch(descriptor); }

  /// Whether a wait() since the last call of this saw the watched descriptor readable. The owner
  /// attends to it only then, and need not ask after each wait(): nothing is forgotten.
  bool take_watched() noexcept { return std::exchange(watched_fired_, false); }

  /// Operations that only wait for another try after EAGAIN fail with it in the next wait(), and so
  /// do later ones. For an owner that is closing.
  void end_retries() noexcept { retries_ended_ = true; }

  std::size_t in_flight() const noexcept { return slots_.size() - free_.size(); }
  std::size_t capacity() const noexcept { return slots_.size(); }
  bool accepts(const File& file) const noexcept { return backend_->accepts(file); }
  std::string_view backend_name() const noexcept { return backend_->name(); }

  /// See Backend::add_buffers and Backend::remove_buffers.
  Status add_buffers(std::span<std::byte> arena) { return backend_->add_buffers(arena); }
  void remove_buffers(std::span<const std::byte> arena) noexcept {
    backend_->remove_buffers(arena);
  }

 private:
  /// One operation under way. At most one attempt of it is with the backend.
  struct Slot {
    Operation operation;
    TransferProgress progress;
    std::chrono::microseconds backoff_us{0};
    TimePoint first_refusal;  ///< when EAGAIN came first; meaningful if backoff_us > 0
    TimePoint retry_at;
    std::uint64_t piece_bytes = 0;  ///< most of one attempt, after EIO; 0: all that is left
  };

  /// When attempts are to reach storage.
  enum class Start : std::uint8_t { kNow, kWithWait };

  std::size_t take(std::span<const Operation> operations);
  Operation next_attempt(std::uint32_t index) const noexcept;
  void start_attempts(Start start);
  void requeue_due_retries();
  std::size_t fail_retries(std::span<Completion> completions);
  std::size_t settle_all(std::span<const RawCompletion> raw, std::span<Completion> completions);
  std::optional<Completion> settle(const RawCompletion& raw);
  std::optional<Completion> settle_transfer(std::uint32_t index, std::uint64_t moved_bytes);
  std::optional<Completion> settle_error(std::uint32_t index, int error_number);
  bool retry_later(std::uint32_t index);
  bool try_less(std::uint32_t index);
  Completion finish(std::uint32_t index, Result<std::uint64_t> bytes);
  Error error_of(const Slot& slot, int error_number) const;
  Deadline until_next_retry(Deadline deadline) const noexcept;

  std::unique_ptr<Backend> backend_;
  const EngineOptions options_;
  const Clock& clock_;
  std::atomic<bool> woken_{false};
  bool watched_fired_ = false;
  bool retries_ended_ = false;
  // All of these are reserved for capacity() entries once: nothing below allocates later.
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;      ///< slots without an operation
  std::vector<std::uint32_t> ready_;     ///< slots whose next attempt is not with the backend yet
  std::vector<std::uint32_t> retrying_;  ///< slots that wait for retry_at
  std::vector<Operation> batch_;
  std::vector<RawCompletion> raw_;
};

}  // namespace forebay::storage
