// SPDX-License-Identifier: Apache-2.0
// Future<T>: the result of a request that may be in progress. A request returns one at once. Its
// owner waits, polls, chains a continuation, watches a descriptor in a foreign loop, or awaits it
// in a coroutine of any type. Data is transferred to the owner's memory only inside the requesting
// call and inside calls on the Future; agents never touch that memory. So a dropped Future is
// harmless.
#pragma once

#include <forebay/error.hpp>
#include <forebay/executor.hpp>
#include <forebay/origin_process.hpp>

#include <chrono>
#include <concepts>
#include <coroutine>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace forebay {

template <class T>
class Future;

namespace detail {

template <class T, class U, class F>
class ThenPending;

/// Object that an agent signals when a request may make progress.
class Waiter {
 public:
  virtual ~Waiter() = default;
  /// Called by an agent, under its lock: must not block or call Forebay.
  virtual void signal() noexcept = 0;
  /// True if threads that would otherwise sleep do the awaited work
  /// (Executor::can_help_when_idle()). An agent then leaves it to them.
  virtual bool has_helpers() const noexcept { return false; }
};

/// The part of an agent's work that a waiting thread may do.
enum class Help : std::uint8_t {
  kAny,                ///< everything; the owner would sleep otherwise
  kCopy,               ///< copy from the page cache; the owner also has other work, and helps again
  kOpportunisticCopy,  ///< the same once; the agent must not count on further help
};

/// A request in progress. All calls come from the Future's owner, one at a time; an agent calls
/// only Waiter::signal(). At most one waiter is armed at a time, and none during advance() or
/// help(). After progress the request may wait elsewhere, and disarm() removes waiters only
/// where it waits now.
class PendingOperation {
 public:
  virtual ~PendingOperation() = default;
  /// Takes what has arrived. Returns true once the request is finished, and on all later calls.
  /// Never blocks.
  virtual bool advance() = 0;
  /// Requests one signal for the time when advance() may make progress. Returns false, and
  /// registers nothing, if it can make progress now.
  virtual bool arm(Waiter& waiter) = 0;
  /// Removes a waiter. It is not signaled after this returns.
  virtual void disarm(Waiter& waiter) noexcept = 0;
  /// Lets an owner that cannot make progress do some of the agent's work. Returns true if it did
  /// any.
  virtual bool help(Help) { return false; }
  /// The default executor of coroutines and continuations.
  virtual Executor& executor() const = 0;
  /// Names the request for an Error: operation ("read"), path, offset.
  virtual ErrorDetails describe() const = 0;

  /// False in a child into which fork() has copied the request. No agent serves it there; only
  /// describe() may be called.
  bool is_served() const noexcept { return origin_.is_current(); }

 private:
  const OriginProcess origin_;
};

template <class T>
class PendingResult : public PendingOperation {
 public:
  /// Returns the result. Call once, after advance() has returned true.
  virtual Result<T> take() = 0;
};

template <class T>
using PendingPointer = OriginPointer<PendingResult<T>>;

using Deadline = std::optional<std::chrono::steady_clock::time_point>;

/// Blocks until the request is finished (true) or the deadline has passed (false).
bool block_on(PendingOperation& pending, Deadline deadline);

/// Tries to finish `pending` by copies on this thread, as far as `executor` permits. True if it is
/// finished.
bool copy_inline(PendingOperation& pending, Executor& executor);

/// Runs work inside post(). For requests that are finished from the start and never suspend.
Executor& inline_executor() noexcept;

/// The time after `limit` from now. No deadline if the clock cannot represent that time.
Deadline deadline_after(std::chrono::nanoseconds limit);

/// Advances a request on an executor whenever it may make progress, until step() returns true. Then
/// it deletes its own object. The base of coroutines and detached continuations.
class Driver : public Work, private Waiter {
 public:
  ~Driver() override = default;
  /// Posts the first step to `executor`. step() never runs inside start().
  static void start(std::unique_ptr<Driver> driver, Executor& executor);
  /// Waits for the first signal instead. Returns false if the request is finished already: the
  /// driver is deleted, and no step ran.
  static bool suspend(std::unique_ptr<Driver> driver, Executor& executor);

 protected:
  Driver() : Work{&Driver::run_posted, nullptr} {}
  /// Runs on the executor. Returns true when finished; if false, pending() is the request to wait
  /// for.
  virtual bool step() = 0;
  virtual PendingOperation& pending() = 0;

 private:
  static void run_posted(Work& work) noexcept;
  void signal() noexcept override { executor_->post(*this); }
  bool has_helpers() const noexcept override { return executor_->can_help_when_idle(); }
  Executor* executor_ = nullptr;
};

/// A descriptor that becomes readable when a request may make progress.
class EventDescriptor {
 public:
  static Result<std::unique_ptr<EventDescriptor>> create();
  ~EventDescriptor();
  EventDescriptor(const EventDescriptor&) = delete;
  EventDescriptor& operator=(const EventDescriptor&) = delete;
  int descriptor() const noexcept;
  void signal() noexcept;               ///< makes it readable
  void arm(PendingOperation& pending);  ///< readable when `pending` may make progress; not twice
  void disarm(PendingOperation& pending) noexcept;  ///< undoes arm()

 private:
  struct Signal;
  explicit EventDescriptor(std::unique_ptr<Signal> signal);
  std::unique_ptr<Signal> signal_;
  bool is_armed_ = false;
};

Error cancelled_error(const PendingOperation& pending);
Error moved_from_error();
Error exception_error(ErrorDetails where, std::exception_ptr exception);

template <class R>
struct Flatten {
  using type = R;
};
template <class R>
struct Flatten<Result<R>> {
  using type = R;
};
/// Value type of the Future of a continuation: U for a function that returns U or Result<U>. U may
/// be void.
template <class F, class T>
using ContinuationValue = typename Flatten<std::invoke_result_t<F, Result<T>>>::type;

}  // namespace detail

/// The result of a request that may be in progress. Move-only; used by one thread at a time.
///
/// Destroying a Future cancels the request: buffers of the caller are not touched afterwards.
/// Failures are the Error of the Result; no function here throws. In a child of fork(), a request
/// of the parent results in kClosed.
template <class T>
class [[nodiscard]] Future {
 public:
  using value_type = T;

  /// A finished Future.
  Future(Result<T> value) : value_(std::move(value)) {}  // NOLINT: a Result *is* a finished Future
  template <std::convertible_to<T> U = T>
    requires(!std::same_as<std::remove_cvref_t<U>, Result<T>>)
  Future(U&& value) : value_(Result<T>(std::forward<U>(value))) {}  // NOLINT: so is its value
  Future(Error error) : value_(std::in_place, tl::unexpect, std::move(error)) {}  // NOLINT
  explicit Future(std::unique_ptr<detail::PendingResult<T>> pending)
      : pending_(pending.release()) {}

  Future(Future&& other) noexcept = default;
  Future& operator=(Future&& other) noexcept {
    disarm_descriptor();
    value_ = std::move(other.value_);
    pending_ = std::move(other.pending_);
    descriptor_ = std::move(other.descriptor_);
    return *this;
  }
  ~Future() { disarm_descriptor(); }

  /// Takes what has arrived: copies it into the caller's memory and runs chained continuations.
  /// Returns true if the result is available, and on all later calls. Never blocks.
  bool poll() {
    fail_if_forked();
    if (value_) return true;
    if (!pending_) return false;
    disarm_descriptor();
    if (!pending_->advance()) {
      if (descriptor_) descriptor_->arm(*pending_);
      return false;
    }
    settle();
    return true;
  }

  /// Blocks until the result is available and moves it out. Call once. A Future that was moved from
  /// returns kInvalidArgument.
  Result<T> wait() {
    fail_if_forked();
    if (!value_) {
      if (!pending_) return failure(detail::moved_from_error());
      disarm_descriptor();
      detail::block_on(*pending_, std::nullopt);
      settle();
    }
    return std::move(*value_);
  }

  /// Blocks for at most `limit`. True if the result is available; wait() then returns at once.
  bool wait_for(std::chrono::nanoseconds limit) {
    fail_if_forked();
    if (value_ || !pending_) return true;
    disarm_descriptor();
    if (detail::block_on(*pending_, detail::deadline_after(limit))) {
      settle();
      return true;
    }
    if (descriptor_) descriptor_->arm(*pending_);
    return false;
  }

  /// Cancels an unfinished request: its result is kCancelled. A finished one keeps its value.
  void cancel() {
    fail_if_forked();
    if (value_ || !pending_) return;
    Error error = detail::cancelled_error(*pending_);
    disarm_descriptor();
    pending_.reset();
    value_.emplace(tl::unexpect, std::move(error));
  }

  /// A descriptor for foreign loops: readable when poll() may make progress, and sometimes without
  /// progress. Call poll() then. Owned by the Future, which closes it in its destructor.
  Result<int> event_fd() {
    if (!descriptor_) {
      auto made = detail::EventDescriptor::create();
      if (!made) return failure(made.error());
      descriptor_ = std::move(*made);
    }
    if (poll()) descriptor_->signal();
    return descriptor_->descriptor();
  }

  /// Returns a Future of the value that `function(Result<T>)` returns. `function` runs once, inside
  /// wait() or poll() of the new Future. If it throws, the result is kException.
  template <std::invocable<Result<T>> F>
  auto then(F function) && -> Future<detail::ContinuationValue<F, T>>;

  /// Runs `function(Result<T>)` once on `executor`, which must outlive it. An exception that leaves
  /// `function` calls std::terminate(): no Future can receive it.
  template <std::invocable<Result<T>> F>
  void then(Executor& executor, F function) &&;

  class Awaiter;
  /// For `co_await` in a coroutine of any type. Resumes on the default executor of the request's
  /// Runtime.
  Awaiter operator co_await() &&;
  /// `co_await std::move(future).on(executor)`: resumes on `executor`. A coroutine that is
  /// suspended here must be resumed before it is destroyed.
  Awaiter on(Executor& executor) &&;

 private:
  template <class, class, class>
  friend class detail::ThenPending;

  void settle() {
    disarm_descriptor();
    value_.emplace(pending_->take());
    pending_.reset();
    if (descriptor_) descriptor_->signal();
  }
  void disarm_descriptor() noexcept {
    if (descriptor_ && pending_ && pending_->is_served()) descriptor_->disarm(*pending_);
  }
  void fail_if_forked() {
    if (!pending_ || pending_->is_served()) return;
    value_.emplace(tl::unexpect, detail::fork_error(pending_->describe()));
    pending_.reset();
  }

  std::optional<Result<T>> value_;
  detail::PendingPointer<T> pending_;
  std::unique_ptr<detail::EventDescriptor> descriptor_;
};

}  // namespace forebay

#include <forebay/future_inl.hpp>
