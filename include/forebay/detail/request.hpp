// SPDX-License-Identifier: Apache-2.0
// What is behind a Future: requests in progress, and how threads and executors wait for them. Not
// part of the interface for programs.
#pragma once

#include <forebay/detail/export.hpp>
#include <forebay/detail/origin_process.hpp>
#include <forebay/error.hpp>
#include <forebay/executor.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace forebay {

namespace detail {

/// Object that an agent signals when a request may make progress.
class FOREBAY_EXPORT Waiter {
 public:
  virtual ~Waiter() = default;
  /// Called on any thread, under the lock of the session, private copy or stream. Must not block or
  /// call Forebay.
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
class FOREBAY_EXPORT PendingOperation {
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
FOREBAY_EXPORT bool block_on(PendingOperation& pending, Deadline deadline);

/// Tries to finish `pending` by copies on this thread, as far as `executor` permits. True if it is
/// finished.
FOREBAY_EXPORT bool copy_inline(PendingOperation& pending, Executor& executor);

/// Runs work inside post(). For requests that are finished from the start and never suspend.
FOREBAY_EXPORT Executor& inline_executor() noexcept;

/// The time after `limit` from now. No deadline if the clock cannot represent that time.
FOREBAY_EXPORT Deadline deadline_after(std::chrono::nanoseconds limit);

/// Advances a request on an executor whenever it may make progress, until step() returns true. Then
/// it deletes its own object. The base of coroutines and detached continuations.
class FOREBAY_EXPORT Driver : public Work, private Waiter {
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
class FOREBAY_EXPORT EventDescriptor {
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

FOREBAY_EXPORT Error cancelled_error(const PendingOperation& pending);
FOREBAY_EXPORT Error moved_from_error();
FOREBAY_EXPORT Error exception_error(ErrorDetails where, std::exception_ptr exception);

template <class R>
struct Flatten {
  using type = R;
};
template <class R>
struct Flatten<Result<R>> {
  using type = R;
};
template <class R>
struct Flatten<tl::expected<R, Error>> {
  using type = R;
};
/// Value type of the Future of a continuation: U for a function that returns U or Result<U>. U may
/// be void.
template <class F, class T>
using ContinuationValue = typename Flatten<std::invoke_result_t<F, Result<T>>>::type;

}  // namespace detail

}  // namespace forebay
