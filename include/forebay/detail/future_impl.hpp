// SPDX-License-Identifier: Apache-2.0
// The templates of Future<T>: its members, chained and detached continuations, and the awaiter.
// Included only by future.hpp.
#pragma once

#include <forebay/future.hpp>

#include <coroutine>
#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace forebay {

namespace detail {

template <class U, class F, class T>
Result<U> run_continuation(F& function, Result<T>&& value, const ErrorDetails& where) {
  try {
    if constexpr (std::is_void_v<std::invoke_result_t<F&, Result<T>>>) {
      function(std::move(value));
      return {};
    } else {
      return function(std::move(value));
    }
  } catch (...) {
    return failure(exception_error(where, std::current_exception()));
  }
}

/// Replaces a request whose value is available already, so that its continuation still runs inside
/// wait() or poll().
template <class T>
class FinishedResult final : public PendingResult<T> {
 public:
  explicit FinishedResult(Result<T> value) : value_(std::move(value)) {}

  bool advance() override { return true; }
  bool arm(Waiter& /*waiter*/) override { return false; }
  void disarm(Waiter& /*waiter*/) noexcept override {}
  Executor& executor() const override { return inline_executor(); }
  ErrorDetails describe() const override {
    if (value_) return {.operation = "a finished request"};
    const Error& error = value_.error();
    return {
        .operation = error.operation(), .path = error.path(), .offset_bytes = error.offset_bytes()};
  }
  Result<T> take() override { return std::move(value_); }

 private:
  Result<T> value_;
};

/// A request followed by a function of the caller.
template <class T, class U, class F>
class ThenPending final : public PendingResult<U> {
 public:
  ThenPending(PendingPointer<T> first, F function)
      : first_(std::move(first)), function_(std::move(function)) {}

  bool advance() override {
    if (result_) return true;
    if (!first_->advance()) return false;
    const ErrorDetails where = first_->describe();  // before take() moves the value out
    result_.emplace(run_continuation<U>(function_, first_->take(), where));
    return true;
  }
  bool arm(Waiter& waiter) override { return !result_ && first_->arm(waiter); }
  void disarm(Waiter& waiter) noexcept override { first_->disarm(waiter); }
  bool help(Help how) override { return first_->help(how); }
  Executor& executor() const override { return first_->executor(); }
  ErrorDetails describe() const override { return first_->describe(); }
  Result<U> take() override { return std::move(*result_); }

 private:
  PendingPointer<T> first_;
  F function_;
  std::optional<Result<U>> result_;
};

/// For bindings of other languages, whose event loops await a Future that the program still owns.
struct FutureAccess {
  /// The request behind `future`; null if the Future is finished or was moved from.
  template <class T>
  static PendingOperation* pending(Future<T>& future) noexcept {
    return future.pending_.get();
  }
};

/// A continuation without a Future for its result.
template <class T, class F>
class DetachedDriver final : public Driver {
 public:
  DetachedDriver(std::optional<Result<T>> value, PendingPointer<T> request, F function)
      : value_(std::move(value)), request_(std::move(request)), function_(std::move(function)) {}

 protected:
  bool step() override {
    if (!value_ && !request_->advance()) return false;
    function_(value_ ? std::move(*value_) : request_->take());
    return true;
  }
  PendingOperation& pending() override { return *request_; }

 private:
  std::optional<Result<T>> value_;
  PendingPointer<T> request_;
  F function_;
};

/// Resumes one coroutine.
class ResumeDriver final : public Driver {
 public:
  ResumeDriver(PendingOperation& request, std::coroutine_handle<> suspended)
      : request_(request), suspended_(suspended) {}

 protected:
  bool step() override {
    if (!request_.advance()) return false;
    suspended_.resume();
    return true;
  }
  PendingOperation& pending() override { return request_; }

 private:
  PendingOperation& request_;
  std::coroutine_handle<> suspended_;
};

}  // namespace detail

template <class T>
Future<T>& Future<T>::operator=(Future&& other) noexcept {
  disarm_descriptor();
  value_ = std::move(other.value_);
  pending_ = std::move(other.pending_);
  descriptor_ = std::move(other.descriptor_);
  return *this;
}

template <class T>
bool Future<T>::poll() {
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

template <class T>
Result<T> Future<T>::wait() {
  fail_if_forked();
  if (!value_) {
    if (!pending_) return failure(detail::moved_from_error());
    disarm_descriptor();
    detail::block_on(*pending_, std::nullopt);
    settle();
  }
  return std::move(*value_);
}

template <class T>
bool Future<T>::wait_for(std::chrono::nanoseconds limit) {
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

template <class T>
void Future<T>::cancel() {
  fail_if_forked();
  if (value_ || !pending_) return;
  Error error = detail::cancelled_error(*pending_);
  disarm_descriptor();
  pending_.reset();
  value_.emplace(tl::unexpect, std::move(error));
}

template <class T>
Result<int> Future<T>::event_fd() {
  if (!descriptor_) {
    auto made = detail::EventDescriptor::create();
    if (!made) return failure(made.error());
    descriptor_ = std::move(*made);
  }
  if (poll()) descriptor_->signal();
  return descriptor_->descriptor();
}

template <class T>
void Future<T>::settle() {
  disarm_descriptor();
  value_.emplace(pending_->take());
  pending_.reset();
  if (descriptor_) descriptor_->signal();
}

template <class T>
void Future<T>::disarm_descriptor() noexcept {
  if (descriptor_ && pending_ && pending_->is_served()) descriptor_->disarm(*pending_);
}

template <class T>
void Future<T>::fail_if_forked() {
  if (!pending_ || pending_->is_served()) return;
  value_.emplace(tl::unexpect, detail::fork_error(pending_->describe()));
  pending_.reset();
}

template <class T>
class Future<T>::Awaiter {
 public:
  Awaiter(Future future, Executor* executor) : future_(std::move(future)), executor_(executor) {}

  /// True also for a Future that was moved from or cancelled: wait() then returns the Error.
  bool await_ready() {
    if (!future_.pending_ || future_.poll()) return true;
    future_.disarm_descriptor();
    return detail::copy_inline(*future_.pending_, resume_executor());
  }
  bool await_suspend(std::coroutine_handle<> suspended) {
    detail::PendingOperation& request = *future_.pending_;
    return detail::Driver::suspend(std::make_unique<detail::ResumeDriver>(request, suspended),
                                   resume_executor());
  }
  Result<T> await_resume() { return future_.wait(); }

 private:
  Executor& resume_executor() const {
    return executor_ != nullptr ? *executor_ : future_.pending_->executor();
  }

  Future future_;
  Executor* executor_;
};

template <class T>
auto Future<T>::operator co_await() && -> Awaiter {
  return Awaiter(std::move(*this), nullptr);
}

template <class T>
auto Future<T>::on(Executor& executor) && -> Awaiter {
  return Awaiter(std::move(*this), &executor);
}

template <class T>
template <std::invocable<Result<T>> F>
auto Future<T>::then(F function) && -> Future<detail::ContinuationValue<F, T>> {
  using U = detail::ContinuationValue<F, T>;
  fail_if_forked();
  if (value_)
    pending_ = detail::PendingPointer<T>(new detail::FinishedResult<T>(std::move(*value_)));
  disarm_descriptor();
  return Future<U>(
      std::make_unique<detail::ThenPending<T, U, F>>(std::move(pending_), std::move(function)));
}

template <class T>
template <std::invocable<Result<T>> F>
void Future<T>::then(Executor& executor, F function) && {
  fail_if_forked();
  disarm_descriptor();
  detail::Driver::start(std::make_unique<detail::DetachedDriver<T, F>>(
                            std::move(value_), std::move(pending_), std::move(function)),
                        executor);
}

}  // namespace forebay
