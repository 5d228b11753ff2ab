// SPDX-License-Identifier: Apache-2.0
// EventLoop: a queue of posted work under one lock. A post costs a lock and at most one wake-up.
#include <forebay/executor.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>

#include <sys/eventfd.h>
#include <unistd.h>

#include "base/descriptor.hpp"

namespace forebay {

namespace {

// A quarter of a millisecond of copies. More would delay posted work; fewer would suspend tasks of
// a few pages each.
constexpr int kInlineCopiesPerPoll = 8;
// Consecutive polls without work before the loop counts as poll-only. A thread that starts tasks
// between polls never gets that far.
constexpr int kEmptyPollsMax = 64;

}  // namespace

Executor::~Executor() = default;

EventLoop::EventLoop() = default;

EventLoop::~EventLoop() {
  if (event_fd_ >= 0) ::close(event_fd_);
}

void EventLoop::post(Work& work) noexcept {
  work.next = nullptr;
  const std::lock_guard lock(mutex_);
  const bool was_empty = first_ == nullptr;
  (was_empty ? first_ : last_->next) = &work;
  last_ = &work;
  if (!was_empty) return;
  posted_.notify_one();
  if (event_fd_ >= 0) {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(event_fd_, &one, sizeof one);
  }
}

bool EventLoop::try_acquire_inline_copy() noexcept {
  return inline_copies_left_.load(std::memory_order_relaxed) > 0 &&
         inline_copies_left_.fetch_sub(1, std::memory_order_relaxed) > 0;
}

/// Called under the lock.
void EventLoop::record_poll() noexcept {
  const bool was_used = first_ != nullptr ||
                        inline_copies_left_.load(std::memory_order_relaxed) < kInlineCopiesPerPoll;
  empty_polls_ = was_used ? 0 : std::min(empty_polls_ + 1, kEmptyPollsMax);
  if (empty_polls_ == kEmptyPollsMax) is_poll_only_.store(true, std::memory_order_relaxed);
}

Work* EventLoop::take_all() {
  last_ = nullptr;
  inline_copies_left_.store(kInlineCopiesPerPoll, std::memory_order_relaxed);
  if (event_fd_ >= 0 && first_ != nullptr) {
    std::uint64_t count = 0;
    [[maybe_unused]] const auto drained = ::read(event_fd_, &count, sizeof count);
  }
  return std::exchange(first_, nullptr);
}

std::size_t EventLoop::run_chain(Work* chain) {
  std::size_t ran = 0;
  while (chain != nullptr) {
    Work* const next =
        chain->next;  // read first: after run() the work may be deleted or posted again
    chain->run(*chain);
    chain = next;
    ++ran;
  }
  return ran;
}

std::size_t EventLoop::poll() {
  if (!origin_.is_current()) return 0;
  Work* chain = nullptr;
  {
    const std::lock_guard lock(mutex_);
    record_poll();
    chain = take_all();
  }
  return run_chain(chain);
}

bool EventLoop::is_idle() {
  const std::lock_guard lock(mutex_);
  return first_ == nullptr && !interrupted_;
}

void EventLoop::run_idle_work() {
  while (idle_work_ && is_idle() && idle_work_()) {
  }
}

std::size_t EventLoop::wait() {
  if (!origin_.is_current()) return 0;
  is_poll_only_.store(false, std::memory_order_relaxed);
  run_idle_work();
  // Counts as a sleeper first, then looks once more. Work offered in between is seen by one side or
  // the other.
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  run_idle_work();
  std::unique_lock lock(mutex_);
  while (first_ == nullptr && !interrupted_) {
    posted_.wait(lock, [this] { return first_ != nullptr || interrupted_ || idle_work_offered_; });
    if (!std::exchange(idle_work_offered_, false)) continue;
    lock.unlock();
    run_idle_work();
    lock.lock();
  }
  sleepers_.fetch_sub(1, std::memory_order_relaxed);
  interrupted_ = false;
  empty_polls_ = 0;
  Work* const chain = take_all();
  lock.unlock();
  return run_chain(chain);
}

void EventLoop::notify_idle_work() noexcept {
  if (sleepers_.load(std::memory_order_seq_cst) == 0) return;
  const std::lock_guard lock(mutex_);
  idle_work_offered_ = true;
  posted_.notify_one();
}

void EventLoop::interrupt() noexcept {
  const std::lock_guard lock(mutex_);
  interrupted_ = true;
  posted_.notify_all();
}

int EventLoop::event_fd() {
  const std::lock_guard lock(mutex_);
  if (event_fd_ < 0) {
    const unsigned waiting = first_ != nullptr ? 1 : 0;
    event_fd_ = move_above_stdio(::eventfd(waiting, EFD_CLOEXEC | EFD_NONBLOCK));
    is_poll_only_.store(true, std::memory_order_relaxed);
  }
  return event_fd_;
}

}  // namespace forebay
