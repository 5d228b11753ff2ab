// SPDX-License-Identifier: Apache-2.0
// A thread that runs tasks in order, for tasks that may take long and have no waiter: notifying a
// kernel of invalid names.
#pragma once

#include <forebay/error.hpp>

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace forebay::emufs {

/// add() is thread-safe.
class TaskQueue {
 public:
  TaskQueue() = default;
  /// Waits for the running task, and discards the others.
  ~TaskQueue();
  TaskQueue(const TaskQueue&) = delete;
  TaskQueue& operator=(const TaskQueue&) = delete;
  Status start();

  /// Discards the oldest task if too many wait, as behind a blocked one: tasks are best effort, and
  /// memory stays bounded.
  void add(std::function<void()> task);

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable wakes_;
  std::deque<std::function<void()>> tasks_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace forebay::emufs
