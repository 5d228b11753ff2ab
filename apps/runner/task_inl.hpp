// SPDX-License-Identifier: Apache-2.0
// The bodies of TaskGroup: starting, waiting, and carrying failures to the end. Included by
// task.hpp only, so that one page shows what a task is and the other how it runs.
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
  alive_count_.fetch_add(1, std::memory_order_relaxed);
  {
    const std::lock_guard lock(mutex_);
    promise.index = spawned_count_++;
    (first_ == nullptr ? first_ : last_->next) = &promise;
    last_ = &promise;
    ++ready_count_;
  }
  if (threads_ > 1) loop_.interrupt();  // another worker may sleep; a lone one looks here first
}

// Takes fewer tasks at a time the fewer are left, so that no worker is idle while another has a
// row.
inline bool TaskGroup::start_some() {
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
    Task::promise_type* const next = task->next;  // read first: the frame may be gone afterwards
    Task::Handle::from_promise(*task).resume();
    task = next;
  }
  return true;
}

inline void TaskGroup::work() {
  while (alive_count_.load(std::memory_order_acquire) != 0) {
    loop_.poll();  // first who can end and give memory back, then who wants some
    if (!start_some() && alive_count_.load(std::memory_order_acquire) != 0) loop_.wait();
  }
  loop_.interrupt();  // wakes one: each worker that leaves wakes the next
}

/// False if there are no more threads to be had: those there are do the work.
inline bool TaskGroup::add_worker(std::vector<std::jthread>& workers) {
  try {
    workers.emplace_back([this] { work(); });
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

inline void TaskGroup::run_workers() {
  std::vector<std::jthread> workers;
  while (workers.size() + 1 < threads_ && add_worker(workers)) {
  }
  work();
}

inline Status TaskGroup::run(unsigned threads) {
  threads_ = std::max(threads, 1U);
  run_workers();
  threads_ = 0;
  spawned_count_ = 0;
  failed_ = false;
  const std::optional<Failure> met = std::exchange(failure_, std::nullopt);
  if (!met) return {};
  if (met->exception) std::rethrow_exception(met->exception);
  return failure(*met->error);
}

inline void TaskGroup::fail(Failure failure) noexcept {
  const std::lock_guard lock(mutex_);
  failed_ = true;
  if (!failure_ || failure.index < failure_->index) failure_ = std::move(failure);
}

inline void TaskGroup::finished() noexcept {
  if (alive_count_.fetch_sub(1, std::memory_order_acq_rel) == 1) loop_.interrupt();
}

}  // namespace forebay::runner
