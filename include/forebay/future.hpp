// SPDX-License-Identifier: Apache-2.0
// Future<T>: one result that may not be there yet. A request returns it at once; its owner waits
// for it, polls it, continues it, hands its descriptor to a foreign loop, or awaits it in a
// coroutine of any type. The owner takes data over inside wait() or poll(); agents never touch the
// owner's memory, so a dropped Future is harmless.
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

/// What an agent signals when something a request waits for has changed.
class Waiter {
 public:
  virtual ~Waiter() = default;
  /// Called by an agent, under its lock: must not block and must not call back into Forebay.
  virtual void signal() noexcept = 0;
  /// Whether threads that would sleep otherwise do what is waited for: then nobody else need come.
  virtual bool has_helpers() const noexcept { return false; }
};

/// What somebody who waits for a request may do for it.
enum class Help : std::uint8_t {
  kAny,            ///< all that the agent would do: the owner would sleep anyway
  kCopy,           ///< copy from the page cache: the owner has other work as well, and comes back
  kCopyInPassing,  ///< the same, but nobody may count on its coming back
};

/// A request under way. All calls but Waiter::signal come from the Future's owner, one at a time.
/// At most one waiter is armed at any time, and none while advance() or help() is called: a request
/// that has got further does not know any more where its waiter is.
class Pending {
 public:
  virtual ~Pending() = default;
  /// Takes what has arrived; true once the request is finished, and from then on. Never blocks.
  virtual bool advance() = 0;
  /// Asks for one signal when advance() may get further. False if it may right now: nothing was
  /// registered.
  virtual bool arm(Waiter& waiter) = 0;
  /// Withdraws a waiter; afterwards nobody signals it.
  virtual void disarm(Waiter& waiter) noexcept = 0;
  /// The owner can get no further: lets it do some of the agent's work. True if it did any.
  virtual bool help(Help) { return false; }
  /// Where coroutines and continuations resume unless the caller says otherwise.
  virtual Executor& executor() const = 0;
  /// Names the request in an error ("read", path, offset).
  virtual ErrorDetails describe() const = 0;

  /// False where fork() has copied the request into a child: no agent serves it there, and only
  /// describe() may be called.
  bool is_served_here() const noexcept { return origin_.is_current(); }

 private:
  const OriginProcess origin_;
};

template <class T>
class PendingResult : public Pending {
 public:
  /// The result, once; only after advance() returned true.
  virtual Result<T> take() = 0;
};

template <class T>
using PendingPointer = PointerAtOrigin<PendingResult<T>>;

using Deadline = std::optional<std::chrono::steady_clock::time_point>;

/// Blocks until the request is finished (true) or the deadline has passed (false).
bool block_on(Pending& pending, Deadline deadline);

/// Finishes `pending` by copying on this thread, as far as `executor` grants that; true if it is.
bool copy_inline(Pending& pending, Executor& executor);

/// For requests that are finished from the start, and so never wait for their turn: runs work where
/// it is posted.
Executor& inline_executor() noexcept;

/// Now and `limit`; no deadline at all if that is further than the clock counts.
Deadline deadline_after(std::chrono::nanoseconds limit);

/// Goes on with a request on an executor each time it may get further, until step() says that it is
/// finished; then it deletes itself. What coroutines and detached continuations stand on.
class Driver : public Work, private Waiter {
 public:
  ~Driver() override = default;
  /// Posts the first step to `executor`: step() never runs inside start().
  static void start(std::unique_ptr<Driver> driver, Executor& executor);
  /// Waits for the first signal instead. False if the request is finished already: the driver is
  /// gone, no step ran.
  static bool suspend(std::unique_ptr<Driver> driver, Executor& executor);

 protected:
  Driver() : Work{&Driver::run_posted, nullptr} {}
  /// Runs on the executor: true when finished. If false, pending() is the request to wait for.
  virtual bool step() = 0;
  virtual Pending& pending() = 0;

 private:
  static void run_posted(Work& work) noexcept;
  void signal() noexcept override { executor_->post(*this); }
  bool has_helpers() const noexcept override { return executor_->works_while_idle(); }
  Executor* executor_ = nullptr;
};

/// A descriptor that becomes readable when a request may get further.
class EventDescriptor {
 public:
  static Result<std::unique_ptr<EventDescriptor>> create();
  ~EventDescriptor();
  EventDescriptor(const EventDescriptor&) = delete;
  EventDescriptor& operator=(const EventDescriptor&) = delete;
  int descriptor() const noexcept;
  void raise() noexcept;                   ///< makes it readable
  void watch(Pending& pending);            ///< readable when `pending` may get further; not twice
  void forget(Pending& pending) noexcept;  ///< the counterpart of watch()

 private:
  struct Signal;
  explicit EventDescriptor(std::unique_ptr<Signal> signal);
  std::unique_ptr<Signal> signal_;
  bool watching_ = false;
};

Error cancelled(const Pending& pending);
Error moved_away();
Error thrown(ErrorDetails where, std::exception_ptr exception);

template <class R>
struct Flatten {
  using type = R;
};
template <class R>
struct Flatten<Result<R>> {
  using type = R;
};
/// What a Future of a continuation carries: U for a function that returns U or Result<U>; U may be
/// void.
template <class F, class T>
using ContinuationValue = typename Flatten<std::invoke_result_t<F, Result<T>>>::type;

}  // namespace detail

/// The result of a request that may still be under way. Move-only; belongs to one thread at a time.
///
/// Dropping a Future takes the request back: buffers of the caller are not touched afterwards.
/// Errors come as the Result's Error; none of these functions throws. In a child of fork(), the
/// result of a request that the parent has made is an Error of class kClosed.
template <class T>
class [[nodiscard]] Future {
 public:
  using value_type = T;

  /// A Future that is finished from the start.
  Future(Result<T> value) : value_(std::move(value)) {}  // NOLINT: a Result *is* a finished Future
  template <std::convertible_to<T> U = T>
    requires(!std::same_as<std::remove_cvref_t<U>, Result<T>>)
  Future(U&& value) : value_(Result<T>(std::forward<U>(value))) {}  // NOLINT: so is its value
  Future(Error error) : value_(std::in_place, tl::unexpect, std::move(error)) {}  // NOLINT
  explicit Future(std::unique_ptr<detail::PendingResult<T>> pending)
      : pending_(pending.release()) {}

  Future(Future&& other) noexcept = default;
  Future& operator=(Future&& other) noexcept {
    forget_descriptor();
    value_ = std::move(other.value_);
    pending_ = std::move(other.pending_);
    descriptor_ = std::move(other.descriptor_);
    return *this;
  }
  ~Future() { forget_descriptor(); }

  /// Takes what has arrived (copies into the caller's memory, runs chained continuations) and says
  /// whether the result is there; once true it stays true. Never blocks.
  bool poll() {
    refuse_in_child();
    if (value_) return true;
    if (!pending_) return false;
    forget_descriptor();
    if (!pending_->advance()) {
      if (descriptor_) descriptor_->watch(*pending_);
      return false;
    }
    settle();
    return true;
  }

  /// Blocks until the result is there and moves it out. Call it once: a Future that was moved from
  /// has nothing to wait for, and says so (kInvalidArgument).
  Result<T> wait() {
    refuse_in_child();
    if (!value_) {
      if (!pending_) return failure(detail::moved_away());
      forget_descriptor();
      detail::block_on(*pending_, std::nullopt);
      settle();
    }
    return std::move(*value_);
  }

  /// Blocks at most `limit`; true if the result is there (then wait() returns at once).
  bool wait_for(std::chrono::nanoseconds limit) {
    refuse_in_child();
    if (value_ || !pending_) return true;
    forget_descriptor();
    if (detail::block_on(*pending_, detail::deadline_after(limit))) {
      settle();
      return true;
    }
    if (descriptor_) descriptor_->watch(*pending_);
    return false;
  }

  /// Takes an unfinished request back: the result is then an Error of class kCancelled. A finished
  /// one keeps its value.
  void cancel() {
    refuse_in_child();
    if (value_ || !pending_) return;
    Error error = detail::cancelled(*pending_);
    forget_descriptor();
    pending_.reset();
    value_.emplace(tl::unexpect, std::move(error));
  }

  /// A descriptor for foreign loops: readable when poll() may get further (it may also be readable
  /// for nothing). Call poll() then. The Future owns the descriptor and closes it at its end.
  Result<int> event_fd() {
    if (!descriptor_) {
      auto made = detail::EventDescriptor::create();
      if (!made) return failure(made.error());
      descriptor_ = std::move(*made);
    }
    if (poll()) descriptor_->raise();
    return descriptor_->descriptor();
  }

  /// A Future of what `function(Result<T>)` returns. `function` runs once, inside wait() or poll()
  /// of the Future returned here. If it throws, that Future's result is an Error of class
  /// kException.
  template <std::invocable<Result<T>> F>
  auto then(F function) && -> Future<detail::ContinuationValue<F, T>>;

  /// Runs `function(Result<T>)` once on `executor`, which must outlive it. An exception that leaves
  /// it is fatal (std::terminate), as on any thread: nobody else is there to receive it.
  template <std::invocable<Result<T>> F>
  void then(Executor& executor, F function) &&;

  class Awaiter;
  /// `co_await` in a coroutine of any type; resumes on the default executor of the request's
  /// Runtime.
  Awaiter operator co_await() &&;
  /// `co_await std::move(future).on(executor)`: resumes on `executor`. A coroutine that is
  /// suspended here must be resumed before it is destroyed.
  Awaiter on(Executor& executor) &&;

 private:
  template <class, class, class>
  friend class detail::ThenPending;

  void settle() {
    forget_descriptor();
    value_.emplace(pending_->take());
    pending_.reset();
    if (descriptor_) descriptor_->raise();
  }
  void forget_descriptor() noexcept {
    if (descriptor_ && pending_ && pending_->is_served_here()) descriptor_->forget(*pending_);
  }
  void refuse_in_child() {
    if (!pending_ || pending_->is_served_here()) return;
    value_.emplace(tl::unexpect, detail::made_before_fork(pending_->describe()));
    pending_.reset();
  }

  std::optional<Result<T>> value_;
  detail::PendingPointer<T> pending_;
  std::unique_ptr<detail::EventDescriptor> descriptor_;
};

}  // namespace forebay

#include <forebay/future_inl.hpp>
