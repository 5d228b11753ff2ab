// SPDX-License-Identifier: Apache-2.0
// Promise<T>: the producer's side of a Future whose result is computed elsewhere. Agents set it
// once, whether or not the Future still exists.
#pragma once

#include <forebay/executor.hpp>
#include <forebay/future.hpp>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace forebay::write {

/// Any thread. Copies share one state. Must not outlive the executor; needs nothing else.
template <class T>
class Promise {
 public:
  Promise(Executor& executor, ErrorDetails details)
      : state_(std::make_shared<State>(executor, std::move(details))) {}

  /// The first value counts.
  void set(Result<T> value) const {
    const std::lock_guard lock(state_->mutex);
    if (state_->value) return;
    state_->value.emplace(std::move(value));
    if (state_->waiter != nullptr) std::exchange(state_->waiter, nullptr)->signal();
  }
  /// Must be called once.
  Future<T> future() const { return Future<T>(std::make_unique<Request>(state_)); }

 private:
  struct State {
    State(Executor& its_executor, ErrorDetails its_about)
        : executor(its_executor), details(std::move(its_about)) {}
    std::mutex mutex;
    std::optional<Result<T>> value;
    detail::Waiter* waiter = nullptr;
    Executor& executor;
    const ErrorDetails details;
  };

  class Request final : public detail::PendingResult<T> {
   public:
    explicit Request(std::shared_ptr<State> state) : state_(std::move(state)) {}
    bool advance() override {
      const std::lock_guard lock(state_->mutex);
      return state_->value.has_value();
    }
    bool arm(detail::Waiter& waiter) override {
      const std::lock_guard lock(state_->mutex);
      if (state_->value) return false;
      state_->waiter = &waiter;
      return true;
    }
    void disarm(detail::Waiter& waiter) noexcept override {
      const std::lock_guard lock(state_->mutex);
      if (state_->waiter == &waiter) state_->waiter = nullptr;
    }
    Executor& executor() const override { return state_->executor; }
    ErrorDetails describe() const override { return state_->details; }
    Result<T> take() override {
      const std::lock_guard lock(state_->mutex);
      return *state_->value;
    }

   private:
    const std::shared_ptr<State> state_;
  };

  std::shared_ptr<State> state_;
};

}  // namespace forebay::write
