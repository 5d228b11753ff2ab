// SPDX-License-Identifier: Apache-2.0
#include "runner/at_once.hpp"

#include <gtest/gtest.h>

namespace forebay::runner {
namespace {

TEST(AtOnce, each_turn_is_taken_once) {
  std::vector<std::atomic<int>> turns(100);
  const Status done = for_each_at_once(turns.size(), 4, [&](std::uint64_t i, unsigned worker) {
    turns[i] += worker < 4 ? 1 : 100;
    return Status();
  });
  EXPECT_TRUE(done);
  for (const std::atomic<int>& turn : turns)
    EXPECT_EQ(turn, 1);
}

TEST(AtOnce, the_first_error_ends_the_loop) {
  const Status done = for_each_at_once(1'000'000'000, 1, [](std::uint64_t i, unsigned) -> Status {
    if (i < 3) return {};
    return failure({.kind = ErrorClass::kDamage});
  });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind(), ErrorClass::kDamage);
}

TEST(AtOnce, threads_without_memory_are_an_error) {
  const Status done =
      for_each_at_once(8, 2, [](std::uint64_t, unsigned) -> Status { throw std::bad_alloc(); });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind(), ErrorClass::kLimit);
}

}  // namespace
}  // namespace forebay::runner
