// SPDX-License-Identifier: Apache-2.0
// Many cooperative tasks on a few threads: what an application brings when it has no task runtime
// of its own. It lives outside the library because the library never owns its user's scheduler; it
// needs nothing of it but the executor interface. A task costs one coroutine frame, nothing else.
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
/// may await anything that resumes it on the group's loop. Its parameters must outlive it.
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

/// Runs tasks to their end on an EventLoop. A failing task does not stop the others; they may look
/// at failed(). The loop must outlive the group, and nobody else may empty it during run().
class TaskGroup {
 public:
  explicit TaskGroup(EventLoop& loop) : loop_(loop) {}
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;
  inline ~TaskGroup();  // destroys tasks that never ran

  /// Adds a task; it starts in run(), in the order of spawning. Call it before run() or from a
  /// task.
  inline void spawn(Task task);

  /// Runs all tasks on this thread and up to `threads - 1` more (fewer if the system refuses them);
  /// blocks until every task has ended. The failure of the earliest spawned task decides: its Error
  /// is returned, its exception is thrown. The group is empty then and may be used again.
  inline Status run(unsigned threads = 1);

  /// True as soon as any task has failed. From any thread.
  bool failed() const noexcept { return failed_.load(std::memory_order_relaxed); }

 private:
  friend struct Task::promise_type;
  struct Failure {
    std::size_t index = 0;
    std::optional<Error> error;
    std::exception_ptr exception;
  };
  inline void work();
  inline bool add_worker(std::vector<std::jthread>& workers);
  inline void run_workers();
  inline bool start_some();
  inline void fail(Failure failure) noexcept;
  inline void finished() noexcept;

  EventLoop& loop_;
  std::mutex mutex_;  // guards what follows, up to failure_
  Task::promise_type* first_ = nullptr;
  Task::promise_type* last_ = nullptr;
  std::size_t ready_count_ = 0;
  std::size_t spawned_count_ = 0;
  std::optional<Failure> failure_;
  std::atomic<bool> failed_{false};
  std::atomic<std::size_t> alive_count_{0};
  unsigned threads_ = 0;  // of run(); 0 outside
};

struct Task::promise_type {
  promise_type* next = nullptr;
  TaskGroup* group = nullptr;
  std::size_t index = 0;

  // The frame is gone, with all that the task held, before the group may count it as ended.
  struct End {
    bool await_ready() const noexcept { return false; }
    void await_suspend(Handle handle) const noexcept {
      TaskGroup& group = *handle.promise().group;
      handle.destroy();
      group.finished();
    }
    void await_resume() const noexcept {}
  };

  Task get_return_object() noexcept { return Task(Handle::from_promise(*this)); }
  std::suspend_always initial_suspend() const noexcept { return {}; }
  End final_suspend() const noexcept { return {}; }
  void return_value(Status status) noexcept {
    if (!status) group->fail({index, std::move(status).error(), nullptr});
  }
  void unhandled_exception() noexcept {
    group->fail({index, std::nullopt, std::current_exception()});
  }
};

}  // namespace forebay::runner

#include "runner/task_inl.hpp"
