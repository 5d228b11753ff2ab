// SPDX-License-Identifier: Apache-2.0
// EventLoop: order, blocking, interruption, and the descriptor for foreign loops.
#include <forebay/executor.hpp>

#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing.hpp"

namespace forebay {
namespace {

/// Work that appends its number to a list.
struct RecordingWork : Work {
  RecordingWork(int what, std::vector<int>& into)
      : Work{&RecordingWork::add, nullptr}, number(what), list(&into) {}
  static void add(Work& work) noexcept {
    auto& work_item = static_cast<RecordingWork&>(work);
    work_item.list->push_back(work_item.number);
  }
  int number;
  std::vector<int>* list;
};

TEST(EventLoop, poll_runs_work_in_order_and_counts_it) {
  EventLoop loop;
  std::vector<int> list;
  RecordingWork first(1, list);
  RecordingWork second(2, list);
  EXPECT_EQ(loop.poll(), 0U);
  loop.post(first);
  loop.post(second);
  EXPECT_EQ(loop.poll(), 2U);
  EXPECT_EQ(list, (std::vector{1, 2}));
  EXPECT_EQ(loop.poll(), 0U);
}

TEST(EventLoop, work_may_be_posted_again_after_it_has_run) {
  EventLoop loop;
  std::vector<int> list;
  RecordingWork work_item(1, list);
  for (int round = 0; round < 3; ++round) {
    loop.post(work_item);
    EXPECT_EQ(loop.wait(), 1U);
  }
  EXPECT_EQ(list.size(), 3U);
}

TEST(EventLoop, work_posted_by_work_runs_in_the_next_poll) {
  struct Chain : Work {
    explicit Chain(EventLoop& where) : Work{&Chain::go, nullptr}, loop(&where) {}
    static void go(Work& work) noexcept {
      auto& chain = static_cast<Chain&>(work);
      if (++chain.runs < 3) chain.loop->post(chain);
    }
    EventLoop* loop;
    int runs = 0;
  };
  EventLoop loop;
  Chain chain(loop);
  loop.post(chain);
  EXPECT_EQ(loop.poll(), 1U);
  EXPECT_EQ(loop.poll(), 1U);
  EXPECT_EQ(loop.poll(), 1U);
  EXPECT_EQ(loop.poll(), 0U);
  EXPECT_EQ(chain.runs, 3);
}

TEST(EventLoop, wait_blocks_until_another_thread_posts) {
  EventLoop loop;
  std::vector<int> list;
  RecordingWork work_item(1, list);
  std::jthread poster([&] { loop.post(work_item); });
  EXPECT_EQ(loop.wait(), 1U);
  EXPECT_EQ(list, std::vector{1});
}

TEST(EventLoop, interrupt_ends_one_wait_even_before_it_begins) {
  EventLoop loop;
  loop.interrupt();
  EXPECT_EQ(loop.wait(), 0U);
  std::jthread interrupter([&] { loop.interrupt(); });
  EXPECT_EQ(loop.wait(), 0U);
}

TEST(EventLoop, sleeping_thread_runs_offered_idle_work) {
  EventLoop loop;
  std::atomic<int> pieces{0};
  std::atomic<int> done{0};
  loop.set_idle_work([&] {
    if (pieces.load() == 0) return false;
    --pieces;
    ++done;
    return true;
  });
  std::atomic<bool> ended{false};
  std::jthread sleeper([&] {
    loop.wait();
    ended = true;
  });
  for (int round = 1; round <= 100; ++round) {
    ++pieces;
    while (done.load() < round)
      loop.notify_idle_work();  // until it sleeps, no thread may take it
    EXPECT_FALSE(ended);
  }
  loop.interrupt();
}

TEST(EventLoop, inline_copies_are_limited_between_two_polls) {
  EventLoop loop;
  EXPECT_FALSE(loop.try_acquire_inline_copy()) << "never polled";
  for (int turn = 0; turn < 3; ++turn) {
    loop.poll();
    EXPECT_TRUE(loop.try_acquire_inline_copy());
    int granted = 1;
    while (granted < 1000 && loop.try_acquire_inline_copy())
      ++granted;
    EXPECT_LT(granted, 1000) << "other tasks must run in between";
    EXPECT_FALSE(loop.try_acquire_inline_copy());
  }
}

TEST(EventLoop, without_idle_work_it_cannot_help_when_idle) {
  EventLoop loop;
  EXPECT_FALSE(loop.can_help_when_idle());
  loop.set_idle_work([] { return false; });
  EXPECT_TRUE(loop.can_help_when_idle());
}

TEST(EventLoop, poll_only_loop_cannot_help_when_idle_until_it_waits) {
  EventLoop loop;
  loop.set_idle_work([] { return false; });
  for (int spin = 0; spin < 1000; ++spin)
    loop.poll();
  EXPECT_FALSE(loop.can_help_when_idle());
  std::vector<int> list;
  RecordingWork work_item(1, list);
  loop.post(work_item);
  loop.poll();
  EXPECT_FALSE(loop.can_help_when_idle()) << "it will spin again";
  loop.interrupt();
  loop.wait();
  EXPECT_TRUE(loop.can_help_when_idle());
}

TEST(EventLoop, loop_that_polls_between_tasks_can_help_when_idle) {
  EventLoop loop;
  loop.set_idle_work([] { return false; });
  for (int task = 0; task < 1000; ++task) {
    loop.poll();
    EXPECT_TRUE(loop.try_acquire_inline_copy());
  }
  EXPECT_TRUE(loop.can_help_when_idle());
}

TEST(EventLoop, loop_with_a_watched_descriptor_cannot_help_when_idle) {
  EventLoop loop;
  loop.set_idle_work([] { return false; });
  ASSERT_GE(loop.event_fd(), 0);
  EXPECT_FALSE(loop.can_help_when_idle());
}

TEST(EventLoop, descriptor_is_readable_while_work_is_queued) {
  EventLoop loop;
  std::vector<int> list;
  RecordingWork work_item(1, list);
  const int descriptor = loop.event_fd();
  ASSERT_GE(descriptor, 0);
  EXPECT_EQ(loop.event_fd(), descriptor);
  EXPECT_FALSE(is_readable(descriptor));
  loop.post(work_item);
  EXPECT_TRUE(is_readable(descriptor));
  loop.poll();
  EXPECT_FALSE(is_readable(descriptor));
}

TEST(EventLoop, descriptor_created_late_is_readable_for_queued_work) {
  EventLoop loop;
  std::vector<int> list;
  RecordingWork work_item(1, list);
  loop.post(work_item);
  EXPECT_TRUE(is_readable(loop.event_fd()));
  loop.wait();
  EXPECT_FALSE(is_readable(loop.event_fd()));
}

TEST(EventLoop, no_work_is_lost_between_many_posters_and_runners) {
  constexpr int kPosters = 3;
  constexpr int kEach = 2000;
  struct Count : Work {
    explicit Count(std::atomic<int>& into) : Work{&Count::add, nullptr}, total(&into) {}
    static void add(Work& work) noexcept { ++*static_cast<Count&>(work).total; }
    std::atomic<int>* total;
  };
  EventLoop loop;
  std::atomic<int> ran{0};
  std::vector<Count> work(std::size_t{kPosters} * kEach, Count(ran));
  std::vector<std::jthread> posters;
  for (std::size_t p = 0; p < kPosters; ++p) {
    posters.emplace_back([&, p] {
      for (std::size_t i = 0; i < kEach; ++i)
        loop.post(work[p * kEach + i]);
    });
  }
  const auto run_until_done = [&] {
    while (ran.load() < kPosters * kEach)
      loop.wait();
    loop.interrupt();  // the other runner may wait for work that is done already
  };
  std::jthread runner(run_until_done);
  run_until_done();
  EXPECT_EQ(ran.load(), kPosters * kEach);
}

}  // namespace
}  // namespace forebay
