// SPDX-License-Identifier: Apache-2.0
// When the doorbell of an agent rings, and that no task is lost that arrives just before the agent
// sleeps.
#include "write/agent_task_queue.hpp"

#include <cstdint>
#include <thread>

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

namespace forebay::write {
namespace {

constexpr int kLong = 10'000;

class AgentTaskQueueTest : public ::testing::Test {
 protected:
  bool is_signaled() const {
    pollfd entry{tasks_.descriptor().get(), POLLIN, 0};
    return ::poll(&entry, 1, 0) == 1;
  }
  bool add(AgentTaskQueue::WakePolicy wake_policy = AgentTaskQueue::WakePolicy::kImmediate) {
    return tasks_.add([this] { ++done_; }, wake_policy);
  }
  void run_tasks() {
    for (const auto& one : tasks_.take_all(is_signaled() ? AgentTaskQueue::Wakeup::kSignaled
                                                         : AgentTaskQueue::Wakeup::kNotSignaled))
      one();
  }

  AgentTaskQueue tasks_{*shm::Doorbell::create()};
  int done_ = 0;
};

TEST_F(AgentTaskQueueTest, add_while_agent_runs_does_not_signal_and_prevents_sleep) {
  EXPECT_TRUE(add());
  EXPECT_FALSE(is_signaled());
  EXPECT_EQ(tasks_.prepare_wait(kLong), 0) << "a task is queued";
  run_tasks();
  EXPECT_EQ(done_, 1);
  EXPECT_EQ(tasks_.prepare_wait(kLong), kLong);
}

TEST_F(AgentTaskQueueTest, add_while_agent_sleeps_signals_once) {
  ASSERT_EQ(tasks_.prepare_wait(-1), -1);
  add(AgentTaskQueue::WakePolicy::kDeferred);
  add();
  std::uint64_t rings = 0;
  ASSERT_EQ(::read(tasks_.descriptor().get(), &rings, sizeof rings), sizeof rings);
  EXPECT_EQ(rings, 1U);
  run_tasks();
  EXPECT_EQ(done_, 2);
  EXPECT_FALSE(is_signaled());
}

TEST_F(AgentTaskQueueTest, ring_after_take_all_wakes_once) {
  ASSERT_EQ(tasks_.prepare_wait(-1), -1);
  add();
  for (const auto& one : tasks_.take_all(
           AgentTaskQueue::Wakeup::kNotSignaled))  // the doorbell had not rung when poll() returned
    one();
  EXPECT_EQ(done_, 1);
  ASSERT_EQ(tasks_.prepare_wait(-1), -1);
  EXPECT_TRUE(is_signaled());
  run_tasks();
  ASSERT_EQ(tasks_.prepare_wait(-1), -1);
  EXPECT_FALSE(is_signaled()) << "otherwise the agent would never sleep again";
}

TEST_F(AgentTaskQueueTest, deferred_task_does_not_interrupt_short_sleep) {
  ASSERT_EQ(tasks_.prepare_wait(AgentTaskQueue::kShortSleepMs), AgentTaskQueue::kShortSleepMs);
  add(AgentTaskQueue::WakePolicy::kDeferred);
  EXPECT_FALSE(is_signaled());
  add();
  EXPECT_TRUE(is_signaled());
  run_tasks();
  EXPECT_EQ(done_, 2);
}

TEST_F(AgentTaskQueueTest, wake_prevents_sleep_until_take_all) {
  tasks_.wake();
  EXPECT_TRUE(is_signaled());
  EXPECT_EQ(tasks_.prepare_wait(kLong), 0);
  run_tasks();
  EXPECT_FALSE(is_signaled());
  EXPECT_EQ(tasks_.prepare_wait(kLong), kLong);
}

TEST_F(AgentTaskQueueTest, close_returns_tasks_and_refuses_later_ones) {
  add();
  const auto last = tasks_.close();
  ASSERT_EQ(last.size(), 1U);
  EXPECT_FALSE(add());
  run_tasks();
  EXPECT_EQ(done_, 0);
}

TEST_F(AgentTaskQueueTest, concurrent_adds_are_all_run) {
  constexpr int kItems = 20'000;
  int lost = 0;
  std::thread other([this] {
    for (int item = 0; item < kItems; ++item)
      add(item % 2 == 0 ? AgentTaskQueue::WakePolicy::kImmediate
                        : AgentTaskQueue::WakePolicy::kDeferred);
    add();  // the immediate task wakes the agent for this one, too
  });
  while (done_ <= kItems) {
    pollfd entry{tasks_.descriptor().get(), POLLIN, 0};
    const int wait_ms = tasks_.prepare_wait(done_ % 3 == 0 ? AgentTaskQueue::kShortSleepMs : kLong);
    const int woken = ::poll(&entry, 1, wait_ms);
    if (wait_ms == kLong && woken != 1) ++lost;
    run_tasks();
  }
  other.join();
  EXPECT_EQ(done_, kItems + 1);
  EXPECT_EQ(lost, 0);
  run_tasks();
  EXPECT_FALSE(is_signaled());
}

}  // namespace
}  // namespace forebay::write
