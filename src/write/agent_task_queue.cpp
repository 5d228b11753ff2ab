// SPDX-License-Identifier: Apache-2.0
#include "write/agent_task_queue.hpp"

#include <utility>

namespace forebay::write {

bool AgentTaskQueue::add(Task work, WakePolicy wake_policy) {
  bool must_signal = false;
  {
    const std::lock_guard lock(mutex_);
    if (is_closed_) return false;
    tasks_.push_back(std::move(work));
    const bool sleeps = state_ == State::kSleeping ||
                        (state_ == State::kShortSleep && wake_policy == WakePolicy::kImmediate);
    must_signal = sleeps && !is_signaled_;
    is_signaled_ = is_signaled_ || must_signal;
  }
  if (must_signal) doorbell_.ring();
  return true;
}

void AgentTaskQueue::wake() {
  {
    const std::lock_guard lock(mutex_);
    is_signaled_ = true;
  }
  doorbell_.ring();
}

int AgentTaskQueue::prepare_wait(int wait_ms) {
  const std::lock_guard lock(mutex_);
  if (wait_ms == 0 || is_signaled_ || !tasks_.empty()) return 0;
  const bool is_short = wait_ms > 0 && wait_ms <= kShortSleepMs;
  state_ = is_short ? State::kShortSleep : State::kSleeping;
  return wait_ms;
}

std::vector<AgentTaskQueue::Task> AgentTaskQueue::take_all(Wakeup wakeup) {
  std::vector<Task> all;
  {
    const std::lock_guard lock(mutex_);
    all.swap(tasks_);
    state_ = State::kRunning;
    is_signaled_ = false;
  }
  // A later ring is seen by the next poll(). If clear() removes it, is_signaled_ makes
  // prepare_wait() return 0 all the same.
  if (wakeup == Wakeup::kSignaled) doorbell_.clear();
  return all;
}

std::vector<AgentTaskQueue::Task> AgentTaskQueue::close() {
  std::vector<Task> all;
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
  all.swap(tasks_);
  return all;
}

}  // namespace forebay::write
