// SPDX-License-Identifier: Apache-2.0
// What several threads share without locks, or with a bell between them: nothing is lost, nothing
// comes twice, and whoever was told to wait is told to go on.
#include "stream/inbox.hpp"

#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "stream/budget.hpp"
#include "stream/completion_list.hpp"

namespace forebay::stream {
namespace {

struct Letter {
  Letter* next = nullptr;
  int sender = 0;
  int number = 0;
};

TEST(Inbox, letters_of_one_sender_come_in_order_and_once) {
  constexpr int kSenders = 4;
  constexpr int kLetters = 20'000;
  Inbox<Letter> inbox;
  std::vector<std::vector<Letter>> letters(kSenders, std::vector<Letter>(kLetters));
  std::vector<std::jthread> senders;
  for (int sender = 0; sender < kSenders; ++sender) {
    senders.emplace_back([&, sender] {
      for (int number = 0; number < kLetters; ++number) {
        Letter& letter =
            letters[static_cast<std::size_t>(sender)][static_cast<std::size_t>(number)];
        letter.sender = sender;
        letter.number = number;
        inbox.push(letter);
      }
    });
  }
  std::vector<int> next(kSenders, 0);
  for (int got = 0; got < kSenders * kLetters;) {
    for (const Letter* letter = inbox.take_all(); letter != nullptr; letter = letter->next) {
      int& expected = next[static_cast<std::size_t>(letter->sender)];
      ASSERT_EQ(letter->number, expected);
      ++expected;
      ++got;
    }
    std::this_thread::yield();
  }
  EXPECT_TRUE(inbox.empty());
}

TEST(Budget, grants_what_fits_and_always_one_request) {
  Budget budget(100, "a test");
  EXPECT_TRUE(budget.try_take(500));
  EXPECT_FALSE(budget.try_take(1));
  budget.give_back(500);
  EXPECT_TRUE(budget.try_take(60));
  EXPECT_TRUE(budget.try_take(40));
  EXPECT_FALSE(budget.try_take(1));
  budget.give_back(60);
  EXPECT_TRUE(budget.try_take(60));
}

TEST(Budget, rings_for_those_who_were_told_no_and_only_then) {
  Budget budget(100, "a test");
  int rings = 0;
  budget.add_bell([&] { ++rings; });
  EXPECT_TRUE(budget.try_take(100));
  budget.give_back(50);
  EXPECT_EQ(rings, 0);
  EXPECT_FALSE(budget.try_take(51));
  budget.give_back(25);
  EXPECT_EQ(rings, 1);
  budget.give_back(25);
  EXPECT_EQ(rings, 1);
}

/// Threads that take and give until each has had its share; one that is told no sleeps until the
/// bell rings.
TEST(Budget, nobody_sleeps_for_ever_and_the_limit_holds) {
  constexpr int kThreads = 4;
  constexpr std::uint64_t kLimit = 3;
  Budget budget(kLimit, "a test");
  std::atomic<std::uint64_t> rings{0};
  std::atomic<std::uint64_t> taken{0};
  std::atomic<std::uint64_t> most{0};
  budget.add_bell([&] {
    ++rings;
    rings.notify_all();
  });
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&] {
      for (int round = 0; round < 3000; ++round) {
        for (std::uint64_t heard = rings.load(); !budget.try_take(1); heard = rings.load())
          rings.wait(heard);
        const std::uint64_t now = ++taken;
        for (std::uint64_t before = most.load(); before < now;) {
          if (most.compare_exchange_weak(before, now)) break;
        }
        --taken;
        budget.give_back(1);
      }
    });
  }
  threads.clear();
  EXPECT_LE(most.load(), kLimit);
}

TEST(CompletionList, in_order_waits_for_the_first) {
  CompletionList list(Completions::kInOrder);
  std::vector<Written> into(5);
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

TEST(CompletionList, none_remembers_nothing) {
  CompletionList list(Completions::kNone);
  std::vector<Written> into(5);
  for (std::size_t i = 0; i < 2 * CompletionList::kEntriesMax; ++i) {
    ASSERT_TRUE(list.reserve());
    list.add({.submission = i});
  }
  EXPECT_EQ(list.take(into), 0U);
}

}  // namespace
}  // namespace forebay::stream
