// SPDX-License-Identifier: Apache-2.0
#include "push/ahead_queue.hpp"

#include <gtest/gtest.h>

namespace forebay::push {
namespace {

TEST(AheadQueue, match_of_the_front_removes_it) {
  AheadQueue queue;
  queue.push(0, 10, 1);
  queue.push(100, 10, 2);
  EXPECT_EQ(queue.match({0, 10}), 0U);
  EXPECT_EQ(queue.accesses(), 1U);
  EXPECT_EQ(queue.loads(), 2U);
}

TEST(AheadQueue, match_behind_the_front_skips_entries) {
  AheadQueue queue;
  for (std::uint64_t i = 0; i < 5; ++i)
    queue.push(i * 100, 10, 1);
  EXPECT_EQ(queue.match({300, 10}), 3U);
  EXPECT_EQ(queue.accesses(), 1U);
}

TEST(AheadQueue, unknown_access_removes_nothing) {
  AheadQueue queue;
  queue.push(0, 10, 1);
  EXPECT_EQ(queue.match({5, 10}), AheadQueue::kEntriesMax);
  EXPECT_EQ(queue.accesses(), 1U);
}

TEST(AheadQueue, adjacent_accesses_share_an_entry_that_shrinks) {
  AheadQueue queue;
  for (std::uint64_t i = 0; i < 8; ++i)
    queue.push(i * 16, 16, i % 4 == 0 ? 1 : 0);
  EXPECT_EQ(queue.size(), 1U);
  EXPECT_EQ(queue.accesses(), 8U);
  EXPECT_EQ(queue.match({0, 16}), 0U);
  EXPECT_EQ(queue.accesses(), 7U);
  // A larger read takes more of the entry.
  EXPECT_EQ(queue.match({16, 48}), 0U);
  EXPECT_EQ(queue.at(0).offset, 64U);
  EXPECT_EQ(queue.match({64, 4096}), 0U);
  EXPECT_TRUE(queue.is_empty());
  EXPECT_EQ(queue.accesses(), 0U);
  EXPECT_EQ(queue.loads(), 0U);
}

TEST(AheadQueue, full_queue_reports_it_and_clear_empties_it) {
  AheadQueue queue;
  for (std::uint64_t i = 0; i < AheadQueue::kEntriesMax; ++i) {
    ASSERT_FALSE(queue.is_full());
    queue.push(i * 100, 10, 1);
  }
  EXPECT_TRUE(queue.is_full());
  queue.clear();
  EXPECT_TRUE(queue.is_empty());
}

TEST(AheadQueue, byte_of_large_accesses_leaves_at_most_those) {
  AheadQueue queue;
  queue.push(0, 1ULL << 33U, 1);
  queue.push(1ULL << 33U, 1ULL << 33U, 1);
  ASSERT_EQ(queue.match({0, 1}), 0U);
  EXPECT_LE(queue.accesses(), 2U);
}

}  // namespace
}  // namespace forebay::push
