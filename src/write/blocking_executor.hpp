// SPDX-License-Identifier: Apache-2.0
// BlockingExecutor: a thread for calls that block on a file system (open, create, rename, sync of
// directories, publication), and for long computations (building an index). Each dataset has one,
// so that a server that does not respond delays only that dataset. There are two priorities, so
// that files created ahead of need do not delay tasks that a step waits for.
#pragma once

#include <forebay/error.hpp>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

namespace forebay::write {

enum class TaskPriority : std::uint8_t {
  kForeground,  ///< a step or rank waits for it
  kBackground,  ///< runs while no foreground task is queued
};

/// Any thread, except stop().
class BlockingExecutor {
 public:
  /// Called on the executor's thread. After cancel() or stop(), `cancel_reason` has a value, and
  /// the task should not do its work.
  using Task = std::function<void(const std::optional<Error>& cancel_reason)>;

  /// kLimit if no thread can be started.
  static Result<std::unique_ptr<BlockingExecutor>> start();
  /// As stop().
  ~BlockingExecutor();
  BlockingExecutor(const BlockingExecutor&) = delete;
  BlockingExecutor& operator=(const BlockingExecutor&) = delete;

  /// Queues a task. Tasks of one priority run in the order of the calls. Never blocks. After stop()
  /// the task is called at once on the caller's thread, with the reason.
  void add(Task task, TaskPriority priority = TaskPriority::kForeground);

  /// Tasks that have not begun, and later ones, are called with this reason. The first call counts.
  void cancel(const Error& why);

  /// As cancel(), unless that was called before. Returns when all tasks have been called. Must not
  /// be called from a task.
  void stop();

 private:
  BlockingExecutor() = default;
  void run();
  std::optional<Task> wait_for_task();

  std::mutex mutex_;  // guards what follows, except the thread
  std::condition_variable changed_;
  std::deque<Task> foreground_;
  std::deque<Task> background_;
  std::optional<Error> cancel_reason_;
  bool is_stopping_ = false;
  bool has_ended_ = false;
  std::thread thread_;
};

}  // namespace forebay::write
