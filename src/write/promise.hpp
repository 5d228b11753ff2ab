// SPDX-License-Identifier: Apache-2.0
// Promise<T>: the agent's side of a Future whose result is made elsewhere and only waits to be
// taken. Agents set it once; whether anybody still waits is nothing to them.
#pragma once

#include <forebay/executor.hpp>
#include <forebay/future.hpp>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace forebay::write {

/// Any thread. Outlives neither the executor nor, by copies of the shared state, anything else.
template <class T>
class Promise {
 public:
  Promise(Executor& executor, ErrorDetails about)
      : state_(std::make_shared<State>(executor, std::move(about))) {}

  /// The first value counts.
  void set(Result<T> value) const {
    const std::lock_guard lock(state_->mutex);
    if (state_->value) return;
    state_->value.emplace(std::move(value));
    if (state_->waiter != nullptr) std::exchange(state_->waiter, nullptr)->signal();
  }
  /// Once.
  Future<T> future() const { return Future<T>(std::make_unique<Request>(state_)); }

 private:
  struct State {
    State(Executor& its_executor, ErrorDetails its_about)
        : executor(its_executor), about(std::move(its_about)) {}
    std::mutex mutex;
    std::optional<Result<T>> value;
    detail::Waiter* waiter = nullptr;
    Executor& executor;
    const ErrorDetails about;
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
    ErrorDetails describe() const override { return state_->about; }
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
