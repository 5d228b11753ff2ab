// SPDX-License-Identifier: Apache-2.0
// EventLoop: a queue of posted work under one lock. A post costs a lock and, at most, one wake-up.
#include <forebay/executor.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>

#include <sys/eventfd.h>
#include <unistd.h>

#include "base/descriptor.hpp"

namespace forebay {

namespace {

// A quarter of a millisecond of copying: more would let posted work wait, fewer would suspend tasks
// of a few pages each.
constexpr int kInlineWorkPerTurn = 8;
// Polls in a row for which nobody had anything: who starts tasks in between does not get so far.
constexpr int kFruitlessPollsMax = 64;

}  // namespace

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
  arrived_.notify_one();
  if (event_fd_ >= 0) {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(event_fd_, &one, sizeof one);
  }
}

bool EventLoop::grants_inline_work() noexcept {
  return inline_work_left_.load(std::memory_order_relaxed) > 0 &&
         inline_work_left_.fetch_sub(1, std::memory_order_relaxed) > 0;
}

/// Under the lock.
void EventLoop::note_poll() noexcept {
  const bool was_used =
      first_ != nullptr || inline_work_left_.load(std::memory_order_relaxed) < kInlineWorkPerTurn;
  fruitless_polls_ = was_used ? 0 : std::min(fruitless_polls_ + 1, kFruitlessPollsMax);
  if (fruitless_polls_ == kFruitlessPollsMax) only_polled_.store(true, std::memory_order_relaxed);
}

Work* EventLoop::take_all() {
  last_ = nullptr;
  inline_work_left_.store(kInlineWorkPerTurn, std::memory_order_relaxed);
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
        chain->next;  // read first: the work may be gone, or posted again, once it has run
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
    note_poll();
    chain = take_all();
  }
  return run_chain(chain);
}

bool EventLoop::nothing_to_do() {
  const std::lock_guard lock(mutex_);
  return first_ == nullptr && !interrupted_;
}

void EventLoop::work_while_idle() {
  while (idle_work_ && nothing_to_do() && idle_work_()) {
  }
}

std::size_t EventLoop::wait() {
  if (!origin_.is_current()) return 0;
  only_polled_.store(false, std::memory_order_relaxed);
  work_while_idle();
  // A sleeper first, then a last look: what is offered in between is seen by one side or the other.
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  work_while_idle();
  std::unique_lock lock(mutex_);
  while (first_ == nullptr && !interrupted_) {
    arrived_.wait(lock, [this] { return first_ != nullptr || interrupted_ || idle_work_offered_; });
    if (!std::exchange(idle_work_offered_, false)) continue;
    lock.unlock();
    work_while_idle();
    lock.lock();
  }
  sleepers_.fetch_sub(1, std::memory_order_relaxed);
  interrupted_ = false;
  fruitless_polls_ = 0;
  Work* const chain = take_all();
  lock.unlock();
  return run_chain(chain);
}

void EventLoop::offer_idle_work() noexcept {
  if (sleepers_.load(std::memory_order_seq_cst) == 0) return;
  const std::lock_guard lock(mutex_);
  idle_work_offered_ = true;
  arrived_.notify_one();
}

void EventLoop::interrupt() noexcept {
  const std::lock_guard lock(mutex_);
  interrupted_ = true;
  arrived_.notify_all();
}

int EventLoop::event_fd() {
  const std::lock_guard lock(mutex_);
  if (event_fd_ < 0) {
    const unsigned waiting = first_ != nullptr ? 1 : 0;
    event_fd_ = above_standard(::eventfd(waiting, EFD_CLOEXEC | EFD_NONBLOCK));
    only_polled_.store(true, std::memory_order_relaxed);
  }
  return event_fd_;
}

}  // namespace forebay
