// SPDX-License-Identifier: Apache-2.0
// Future<T>: the result of a request that may be in progress. A request returns one at once. Its
// owner waits, polls, chains a continuation, watches a descriptor in a foreign loop, or awaits it
// in a coroutine of any type. Data is transferred to the owner's memory only inside the requesting
// call and inside calls on the Future; agents never touch that memory. So a dropped Future is
// harmless.
#pragma once

#include <forebay/detail/request.hpp>
#include <forebay/error.hpp>
#include <forebay/executor.hpp>

#include <chrono>
#include <concepts>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace forebay {

namespace detail {
template <class T, class U, class F>
class ThenPending;
struct FutureAccess;
}  // namespace detail

/// The result of a request that may be in progress. Move-only; used by one thread at a time.
///
/// Destroying a Future ends a request to read: buffers of the caller are not touched afterwards.
/// Loads that it has queued still happen.
/// A committed step continues.
/// Failures are the Error of the Result; no function here throws. In a child of fork(), a request
/// of the parent results in kClosed.
template <class T>
class [[nodiscard]] Future {
 public:
  using value_type = T;

  /// A finished Future.
  Future(Result<T> value) : value_(std::move(value)) {}  // NOLINT: a Result *is* a finished Future
  template <std::convertible_to<T> U = T>
    requires(!std::derived_from<std::remove_cvref_t<U>, tl::expected<T, Error>>)
  Future(U&& value) : value_(Result<T>(std::forward<U>(value))) {}  // NOLINT: so is its value
  template <std::same_as<tl::expected<T, Error>> Expected>
  Future(Expected value) : value_(Result<T>(std::move(value))) {}  // NOLINT: as map_error() returns
  Future(Error error) : value_(std::in_place, tl::unexpect, std::move(error)) {}  // NOLINT
  explicit Future(std::unique_ptr<detail::PendingResult<T>> pending)
      : pending_(pending.release()) {}

  Future(Future&& other) noexcept = default;
  Future& operator=(Future&& other) noexcept;
  ~Future() { disarm_descriptor(); }

  /// Takes what has arrived: copies it into the caller's memory and runs chained continuations.
  /// Returns true if the result is available, and on all later calls. Never blocks.
  bool poll();

  /// Blocks until the result is available and moves it out. Call once. Do not use a
  /// Future that was moved from; an unfinished one returns kInvalidArgument.
  Result<T> wait();

  /// Blocks for at most `limit`. True if the result is available; wait() then returns at once.
  bool wait_for(std::chrono::nanoseconds limit);

  /// Cancels an unfinished request: its result is kCancelled. A finished one keeps its value.
  void cancel();

  /// A descriptor for foreign loops: readable when poll() may make progress, and sometimes without
  /// progress. Call poll() then. Owned by the Future, which closes it in its destructor.
  Result<int> event_fd();

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
  friend struct detail::FutureAccess;

  void settle();
  void disarm_descriptor() noexcept;
  void fail_if_forked();

  std::optional<Result<T>> value_;
  detail::PendingPointer<T> pending_;
  std::unique_ptr<detail::EventDescriptor> descriptor_;
};

}  // namespace forebay

#include <forebay/detail/future_impl.hpp>
