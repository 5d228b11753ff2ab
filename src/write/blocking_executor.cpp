// SPDX-License-Identifier: Apache-2.0
#include "write/blocking_executor.hpp"

#include <utility>

#include "base/service_thread.hpp"

namespace forebay::write {

Result<std::unique_ptr<BlockingExecutor>> BlockingExecutor::start() {
  std::unique_ptr<BlockingExecutor> blocking_executor(new BlockingExecutor);
  auto thread =
      start_service_thread("fb-blocking", [raw = blocking_executor.get()] { raw->run(); });
  if (!thread) {
    blocking_executor->has_ended_ = true;
    return failure(thread.error());
  }
  blocking_executor->thread_ = std::move(*thread);
  return blocking_executor;
}

BlockingExecutor::~BlockingExecutor() { stop(); }

void BlockingExecutor::add(Task task, TaskPriority priority) {
  std::unique_lock lock(mutex_);
  if (!has_ended_) {
    (priority == TaskPriority::kForeground ? foreground_ : background_).push_back(std::move(task));
    changed_.notify_one();
    return;
  }
  const std::optional<Error> why = cancel_reason_;
  lock.unlock();
  task(why);
}

void BlockingExecutor::cancel(const Error& why) {
  const std::lock_guard lock(mutex_);
  if (!cancel_reason_) cancel_reason_ = why;
}

void BlockingExecutor::stop() {
  cancel(
      Error({.kind = ErrorClass::kClosed, .operation = "write", .cause = "the dataset is closed"}));
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
    changed_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

/// Body of the thread.
void BlockingExecutor::run() {
  while (auto task = wait_for_task()) {
    std::optional<Error> cancel_reason;
    {
      const std::lock_guard lock(mutex_);
      cancel_reason = cancel_reason_;
    }
    (*task)(cancel_reason);
  }
}

/// Waits for a task; no value if none can follow.
std::optional<BlockingExecutor::Task> BlockingExecutor::wait_for_task() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock,
                [this] { return is_stopping_ || !foreground_.empty() || !background_.empty(); });
  std::deque<Task>& from = foreground_.empty() ? background_ : foreground_;
  if (from.empty()) {
    has_ended_ = true;
    return std::nullopt;
  }
  std::optional<Task> task(std::move(from.front()));
  from.pop_front();
  return task;
}

}  // namespace forebay::write
