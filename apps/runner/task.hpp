// SPDX-License-Identifier: Apache-2.0
// Many cooperative tasks on few threads, for applications without a task runtime. It is not part of
// the library, because the library never owns the scheduler of its user. It uses only the executor
// interface of the library. A task costs one coroutine frame and nothing else.
#pragma once

#include <forebay/error.hpp>
#include <forebay/executor.hpp>

#include <atomic>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace forebay::runner {

class TaskGroup;

/// A coroutine that ends with `co_return Status`. It does not start before TaskGroup::run(), and
/// may await anything that resumes it on the group's EventLoop. Its parameters must outlive it.
class [[nodiscard]] Task {
 public:
  struct promise_type;
  using Handle = std::coroutine_handle<promise_type>;

  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&&) = delete;
  ~Task() {
    if (handle_) handle_.destroy();
  }

 private:
  friend class TaskGroup;
  explicit Task(Handle handle) noexcept : handle_(handle) {}
  Handle handle_;
};

/// Runs tasks to completion on an EventLoop. A failed task does not stop the others, which may
/// check has_failed(). The loop must outlive the group. During run(), no other code may poll the
/// loop.
class TaskGroup {
 public:
  explicit TaskGroup(EventLoop& loop) : loop_(loop) {}
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;
  inline ~TaskGroup();  // destroys tasks that never started

  /// Adds a task. run() starts tasks in the order of spawn(). May be called before run() or from a
  /// task.
  inline void spawn(Task task);

  /// Runs all tasks on this thread and up to `threads - 1` others (fewer if the system refuses
  /// them). Blocks until every task has ended. If tasks fail, the one that was spawned first
  /// decides: its Error is returned, or its exception thrown. Afterwards the group is empty and may
  /// be used again.
  inline Status run(unsigned threads = 1);

  /// True once any task has failed. May be called from any thread.
  bool has_failed() const noexcept { return has_failed_.load(std::memory_order_relaxed); }

 private:
  friend struct Task::promise_type;
  struct Failure {
    std::size_t index = 0;
    std::optional<Error> error;
    std::exception_ptr exception;
  };
  inline void run_worker();
  inline bool add_worker(std::vector<std::jthread>& workers);
  inline void run_workers();
  inline bool start_tasks();
  inline void record_failure(Failure failure) noexcept;
  inline void complete_task() noexcept;

  EventLoop& loop_;
  std::mutex mutex_;  // guards the members below, up to failure_
  Task::promise_type* first_ = nullptr;
  Task::promise_type* last_ = nullptr;
  std::size_t ready_count_ = 0;
  std::size_t spawned_count_ = 0;
  std::optional<Failure> failure_;
  std::atomic<bool> has_failed_{false};
  std::atomic<std::size_t> live_task_count_{0};
  unsigned threads_ = 0;  // of the current run(); else 0
};

struct Task::promise_type {
  promise_type* next = nullptr;
  TaskGroup* group = nullptr;
  std::size_t index = 0;

  // Destroys the frame, with everything the task holds, before the group counts the task as ended.
  struct FinalAwaiter {
    bool await_ready() const noexcept { return false; }
    void await_suspend(Handle handle) const noexcept {
      TaskGroup& group = *handle.promise().group;
      handle.destroy();
      group.complete_task();
    }
    void await_resume() const noexcept {}
  };

  Task get_return_object() noexcept { return Task(Handle::from_promise(*this)); }
  std::suspend_always initial_suspend() const noexcept { return {}; }
  FinalAwaiter final_suspend() const noexcept { return {}; }
  void return_value(Status status) noexcept {
    if (!status) group->record_failure({index, std::move(status).error(), nullptr});
  }
  void unhandled_exception() noexcept {
    group->record_failure({index, std::nullopt, std::current_exception()});
  }
};

}  // namespace forebay::runner

#include "runner/task_inl.hpp"
