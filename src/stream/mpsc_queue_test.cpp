// SPDX-License-Identifier: Apache-2.0
// Objects that threads share without locks, or with a notification: no item is lost or duplicated,
// and every waiter is woken.
#include "stream/mpsc_queue.hpp"

#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "stream/completion_list.hpp"
#include "stream/in_flight_budget.hpp"

namespace forebay::stream {
namespace {

struct TestItem {
  TestItem* next = nullptr;
  int sender = 0;
  int number = 0;
};

TEST(MpscQueue, items_of_one_sender_arrive_in_order_and_once) {
  constexpr int kSenders = 4;
  constexpr int kItems = 20'000;
  MpscQueue<TestItem> inbox;
  std::vector<std::vector<TestItem>> items(kSenders, std::vector<TestItem>(kItems));
  std::vector<std::jthread> senders;
  for (int sender = 0; sender < kSenders; ++sender) {
    senders.emplace_back([&, sender] {
      for (int number = 0; number < kItems; ++number) {
        TestItem& item = items[static_cast<std::size_t>(sender)][static_cast<std::size_t>(number)];
        item.sender = sender;
        item.number = number;
        inbox.push(item);
      }
    });
  }
  std::vector<int> next(kSenders, 0);
  for (int got = 0; got < kSenders * kItems;) {
    for (const TestItem* item = inbox.take_all(); item != nullptr; item = item->next) {
      int& expected = next[static_cast<std::size_t>(item->sender)];
      ASSERT_EQ(item->number, expected);
      ++expected;
      ++got;
    }
    std::this_thread::yield();
  }
  EXPECT_TRUE(inbox.empty());
}

TEST(InFlightBudget, grants_what_fits_and_always_one_request) {
  InFlightBudget budget(100, "a test");
  EXPECT_TRUE(budget.try_acquire(500));
  EXPECT_FALSE(budget.try_acquire(1));
  budget.release(500);
  EXPECT_TRUE(budget.try_acquire(60));
  EXPECT_TRUE(budget.try_acquire(40));
  EXPECT_FALSE(budget.try_acquire(1));
  budget.release(60);
  EXPECT_TRUE(budget.try_acquire(60));
}

TEST(InFlightBudget, notifies_only_after_a_failed_acquire) {
  InFlightBudget budget(100, "a test");
  int rings = 0;
  budget.add_listener([&] { ++rings; });
  EXPECT_TRUE(budget.try_acquire(100));
  budget.release(50);
  EXPECT_EQ(rings, 0);
  EXPECT_FALSE(budget.try_acquire(51));
  budget.release(25);
  EXPECT_EQ(rings, 1);
  budget.release(25);
  EXPECT_EQ(rings, 1);
}

/// Threads acquire and release repeatedly; a thread whose acquire fails sleeps until the listener
/// is called.
TEST(InFlightBudget, no_thread_sleeps_without_limit_and_the_limit_holds) {
  constexpr int kThreads = 4;
  constexpr std::uint64_t kLimit = 3;
  InFlightBudget budget(kLimit, "a test");
  std::atomic<std::uint64_t> rings{0};
  std::atomic<std::uint64_t> taken{0};
  std::atomic<std::uint64_t> most{0};
  budget.add_listener([&] {
    ++rings;
    rings.notify_all();
  });
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&] {
      for (int round = 0; round < 3000; ++round) {
        for (std::uint64_t seen = rings.load(); !budget.try_acquire(1); seen = rings.load())
          rings.wait(seen);
        const std::uint64_t now = ++taken;
        for (std::uint64_t before = most.load(); before < now;) {
          if (most.compare_exchange_weak(before, now)) break;
        }
        --taken;
        budget.release(1);
      }
    });
  }
  threads.clear();
  EXPECT_LE(most.load(), kLimit);
}

TEST(CompletionList, in_order_waits_for_the_first) {
  CompletionList list(CompletionOrder::kInOrder);
  std::vector<WriteCompletion> into(5);
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(list.reserve());
  list.add({.submission = 1});
  list.add({.submission = 2});
  EXPECT_EQ(list.take(into), 0U);
  list.add({.submission = 0});
  EXPECT_EQ(list.take(into), 3U);
  EXPECT_EQ(into[0].submission, 0U);
  EXPECT_EQ(into[2].submission, 2U);
}

TEST(CompletionList, order_none_stores_nothing) {
  CompletionList list(CompletionOrder::kNone);
  std::vector<WriteCompletion> into(5);
  for (std::size_t i = 0; i < 2 * CompletionList::kEntriesMax; ++i) {
    ASSERT_TRUE(list.reserve());
    list.add({.submission = i});
  }
  EXPECT_EQ(list.take(into), 0U);
}

}  // namespace
}  // namespace forebay::stream
