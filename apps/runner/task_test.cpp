// SPDX-License-Identifier: Apache-2.0
#include "runner/task.hpp"

#include <array>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

namespace forebay::runner {
namespace {

/// Suspends a coroutine and posts it to the loop immediately, as a ready Future does.
class Yield : private Work {
 public:
  explicit Yield(EventLoop& loop) : Work{&Yield::resume, nullptr}, loop_(loop) {}
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> suspended) noexcept {
    suspended_ = suspended;
    loop_.post(*this);
  }
  void await_resume() const noexcept {}

 private:
  static void resume(Work& work) noexcept { static_cast<Yield&>(work).suspended_.resume(); }
  EventLoop& loop_;
  std::coroutine_handle<> suspended_;
};

Task count_up(EventLoop& loop, std::atomic<int>& counter, int yields) {
  for (int i = 0; i < yields; ++i)
    co_await Yield(loop);
  ++counter;
  co_return Status{};
}

TEST(TaskGroup, run_without_tasks_succeeds) {
  EventLoop loop;
  TaskGroup group(loop);
  EXPECT_TRUE(group.run());
  EXPECT_TRUE(group.run(3));
}

TEST(TaskGroup, runs_every_task_with_any_number_of_threads) {
  for (const unsigned threads : {1U, 2U, 5U}) {
    EventLoop loop;
    std::atomic<int> counter{0};
    TaskGroup group(loop);
    for (int i = 0; i < 3000; ++i)
      group.spawn(count_up(loop, counter, i % 4));
    EXPECT_EQ(counter, 0) << "tasks must not start before run()";
    EXPECT_TRUE(group.run(threads));
    EXPECT_EQ(counter, 3000) << threads << " threads";
  }
}

TEST(TaskGroup, one_thread_starts_tasks_in_spawn_order) {
  EventLoop loop;
  std::vector<int> order;
  const auto note = [&order](int i) -> Task {
    order.push_back(i);
    co_return Status{};
  };
  TaskGroup group(loop);
  for (int i = 0; i < 200; ++i)
    group.spawn(note(i));
  EXPECT_TRUE(group.run());
  ASSERT_EQ(order.size(), 200U);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

Task spawn_tree(TaskGroup& group, EventLoop& loop, std::atomic<int>& counter, int depth) {
  co_await Yield(loop);
  ++counter;
  if (depth > 0) {
    group.spawn(spawn_tree(group, loop, counter, depth - 1));
    group.spawn(spawn_tree(group, loop, counter, depth - 1));
  }
  co_return Status{};
}

TEST(TaskGroup, tasks_may_spawn_tasks) {
  for (const unsigned threads : {1U, 3U}) {
    EventLoop loop;
    std::atomic<int> counter{0};
    TaskGroup group(loop);
    group.spawn(spawn_tree(group, loop, counter, 9));
    EXPECT_TRUE(group.run(threads));
    EXPECT_EQ(counter, 1023);
  }
}

Task fail_with(EventLoop& loop, std::string cause) {
  co_await Yield(loop);
  co_return failure({.kind = ErrorClass::kDamage, .operation = "test", .cause = std::move(cause)});
}

Task throw_in_task(EventLoop& loop) {
  co_await Yield(loop);
  throw std::runtime_error("thrown in a task");
}

TEST(TaskGroup, error_of_earliest_task_is_returned_and_others_end) {
  EventLoop loop;
  std::atomic<int> counter{0};
  TaskGroup group(loop);
  group.spawn(count_up(loop, counter, 5));
  group.spawn(fail_with(loop, "first"));
  group.spawn(fail_with(loop, "second"));
  group.spawn(count_up(loop, counter, 5));
  const Status status = group.run(2);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().cause(), "first");
  EXPECT_EQ(counter, 2);
}

TEST(TaskGroup, exception_is_rethrown_by_run) {
  EventLoop loop;
  std::atomic<int> counter{0};
  TaskGroup group(loop);
  group.spawn(throw_in_task(loop));
  group.spawn(fail_with(loop, "later"));
  group.spawn(count_up(loop, counter, 3));
  try {
    (void)group.run();
    FAIL() << "nothing was thrown";
  } catch (const std::runtime_error& caught) {
    EXPECT_STREQ(caught.what(), "thrown in a task");
  }
  EXPECT_EQ(counter, 1);
}

TEST(TaskGroup, can_be_used_again_after_a_failure) {
  EventLoop loop;
  std::atomic<int> counter{0};
  TaskGroup group(loop);
  group.spawn(fail_with(loop, "once"));
  EXPECT_FALSE(group.run(2));
  EXPECT_FALSE(group.has_failed());
  group.spawn(count_up(loop, counter, 1));
  EXPECT_TRUE(group.run(2));
  EXPECT_EQ(counter, 1);
}

TEST(TaskGroup, has_failed_is_visible_to_later_tasks) {
  EventLoop loop;
  TaskGroup group(loop);
  bool seen = false;
  const auto look = [&]() -> Task {
    while (!group.has_failed())
      co_await Yield(loop);
    seen = true;
    co_return Status{};
  };
  group.spawn(look());
  group.spawn(fail_with(loop, "look"));
  EXPECT_FALSE(group.run());
  EXPECT_TRUE(seen);
}

Task hold(std::shared_ptr<std::atomic<int>> held) {
  *held += 1;
  co_return Status{};
}

TEST(TaskGroup, task_state_is_released_before_run_returns) {
  EventLoop loop;
  const auto held = std::make_shared<std::atomic<int>>(0);
  TaskGroup group(loop);
  for (int i = 0; i < 100; ++i)
    group.spawn(hold(held));
  EXPECT_EQ(held.use_count(), 101);
  EXPECT_TRUE(group.run(2));
  EXPECT_EQ(*held, 100);
  EXPECT_EQ(held.use_count(), 1);
}

TEST(TaskGroup, tasks_that_never_ran_are_destroyed) {
  EventLoop loop;
  const auto held = std::make_shared<std::atomic<int>>(0);
  {
    TaskGroup group(loop);
    for (int i = 0; i < 10; ++i)
      group.spawn(hold(held));
    const Task unused = hold(held);
    EXPECT_EQ(held.use_count(), 12);
  }
  EXPECT_EQ(*held, 0);
  EXPECT_EQ(held.use_count(), 1);
}

TEST(TaskGroup, two_workers_share_tasks_that_compute) {
  EventLoop loop;
  std::array<std::atomic<bool>, 2> inside{};
  // Each of the two tasks waits for the other, so one thread alone would never end. The loop runs
  // until the operating system has started a second thread.
  const auto rendezvous = [&](std::size_t mine) -> Task {
    inside[mine] = true;
    while (!inside[1 - mine])
      std::this_thread::yield();
    co_return Status{};
  };
  TaskGroup group(loop);
  group.spawn(rendezvous(0));
  group.spawn(rendezvous(1));
  EXPECT_TRUE(group.run(2));
}

}  // namespace
}  // namespace forebay::runner
