// SPDX-License-Identifier: Apache-2.0
#include "tools/emufs/task_queue.hpp"

#include <cstddef>
#include <utility>

#include "base/service_thread.hpp"

namespace forebay::emufs {

namespace {

constexpr std::size_t kTasksMax = 65'536;

}  // namespace

Status TaskQueue::start() {
  auto thread = start_service_thread("emufs-tasks", [this] { run(); });
  if (!thread) return failure(thread.error());
  thread_ = std::move(*thread);
  return {};
}

TaskQueue::~TaskQueue() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wakes_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void TaskQueue::add(std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    if (tasks_.size() == kTasksMax) tasks_.pop_front();
    tasks_.push_back(std::move(task));
  }
  wakes_.notify_one();
}

void TaskQueue::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wakes_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
    if (stopping_) return;
    const std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    lock.lock();
  }
}

}  // namespace forebay::emufs
