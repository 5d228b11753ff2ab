// SPDX-License-Identifier: Apache-2.0
// Implementation of TaskGroup: starting tasks, waiting for them, returning failures. Included by
// task.hpp only, which holds the interface.
#pragma once

#include <algorithm>
#include <system_error>
#include <thread>
#include <vector>

#include "runner/task.hpp"

namespace forebay::runner {

inline TaskGroup::~TaskGroup() {
  while (first_ != nullptr) {
    Task::promise_type& task = *std::exchange(first_, first_->next);
    Task::Handle::from_promise(task).destroy();
  }
}

inline void TaskGroup::spawn(Task task) {
  Task::promise_type& promise = std::exchange(task.handle_, nullptr).promise();
  promise.group = this;
  live_task_count_.fetch_add(1, std::memory_order_relaxed);
  {
    const std::lock_guard lock(mutex_);
    promise.index = spawned_count_++;
    (first_ == nullptr ? first_ : last_->next) = &promise;
    last_ = &promise;
    ++ready_count_;
  }
  // another worker may sleep; a single one checks first_ before it sleeps
  if (threads_ > 1) loop_.interrupt();
}

// Takes fewer tasks at a time when fewer are left, so that no worker is idle while another has
// several.
inline bool TaskGroup::start_tasks() {
  Task::promise_type* task = nullptr;
  std::size_t count = 0;
  {
    const std::lock_guard lock(mutex_);
    if (first_ == nullptr) return false;
    count = std::clamp<std::size_t>(ready_count_ / (4 * std::size_t{threads_}), 1, 32);
    task = first_;
    for (std::size_t i = 0; i < count; ++i)
      first_ = first_->next;
    ready_count_ -= count;
  }
  for (; count > 0; --count) {
    Task::promise_type* const next = task->next;  // read first: resume() may destroy the frame
    Task::Handle::from_promise(*task).resume();
    task = next;
  }
  return true;
}

inline void TaskGroup::run_worker() {
  while (live_task_count_.load(std::memory_order_acquire) != 0) {
    loop_.poll();  // first resume tasks that may end and free memory, then start new ones
    if (!start_tasks() && live_task_count_.load(std::memory_order_acquire) != 0) loop_.wait();
  }
  loop_.interrupt();  // wakes one worker; each worker that leaves wakes the next
}

/// Starts a worker thread. False if the system has no more threads; the existing ones do the work.
inline bool TaskGroup::add_worker(std::vector<std::jthread>& workers) {
  try {
    workers.emplace_back([this] { run_worker(); });
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

inline void TaskGroup::run_workers() {
  std::vector<std::jthread> workers;
  while (workers.size() + 1 < threads_ && add_worker(workers)) {
  }
  run_worker();
}

inline Status TaskGroup::run(unsigned threads) {
  threads_ = std::max(threads, 1U);
  run_workers();
  threads_ = 0;
  spawned_count_ = 0;
  has_failed_ = false;
  const std::optional<Failure> first_failure = std::exchange(failure_, std::nullopt);
  if (!first_failure) return {};
  if (first_failure->exception) std::rethrow_exception(first_failure->exception);
  return failure(*first_failure->error);
}

inline void TaskGroup::record_failure(Failure failure) noexcept {
  const std::lock_guard lock(mutex_);
  has_failed_ = true;
  if (!failure_ || failure.index < failure_->index) failure_ = std::move(failure);
}

inline void TaskGroup::complete_task() noexcept {
  if (live_task_count_.fetch_sub(1, std::memory_order_acq_rel) == 1) loop_.interrupt();
}

}  // namespace forebay::runner
