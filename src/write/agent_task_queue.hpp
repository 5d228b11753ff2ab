// SPDX-License-Identifier: Apache-2.0
// AgentTaskQueue: tasks that other threads post to an agent, and the doorbell that wakes it. A
// wake-up costs the caller several microseconds, and the application is such a caller. So the
// doorbell does not ring while the agent is awake. For a kDeferred task it does not ring while the
// agent is in a short sleep either.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "base/descriptor.hpp"
#include "shm/doorbell.hpp"

namespace forebay::write {

class AgentTaskQueue {
 public:
  using Task = std::function<void()>;
  /// Length of a short sleep; kDeferred tasks wait for its end.
  static constexpr int kShortSleepMs = 1;
  enum class WakePolicy : std::uint8_t { kImmediate, kDeferred };
  enum class Wakeup : std::uint8_t { kNotSignaled, kSignaled };

  explicit AgentTaskQueue(shm::Doorbell wakeup) : doorbell_(std::move(wakeup)) {}

  /// Any thread; never waits. Adds a task. Returns false after close(); the task is then dropped.
  bool add(Task work, WakePolicy wake_policy = WakePolicy::kImmediate);
  /// Any thread: wakes the agent, or prevents its next sleep, without a task.
  void wake();

  // The agent's thread.
  /// Readable after the doorbell has rung.
  const Descriptor& descriptor() const noexcept { return doorbell_.descriptor(); }
  /// Must be called immediately before poll(). Returns the timeout for poll(): `wait_ms`, or 0 if a
  /// task or a wake-up is pending.
  int prepare_wait(int wait_ms);
  /// Returns all tasks, in order. The agent counts as awake until the next prepare_wait().
  /// kSignaled: poll() reported descriptor() as readable. An earlier call may already have returned
  /// the tasks of that ring.
  std::vector<Task> take_all(Wakeup wakeup);
  /// As take_all(), for the last time: later tasks are refused.
  std::vector<Task> close();

 private:
  enum class State : std::uint8_t { kRunning, kShortSleep, kSleeping };

  const shm::Doorbell doorbell_;
  std::mutex mutex_;
  std::vector<Task> tasks_;
  State state_ = State::kRunning;
  bool is_signaled_ = false;  ///< the doorbell rang after the last take_all()
  bool is_closed_ = false;
};

}  // namespace forebay::write
