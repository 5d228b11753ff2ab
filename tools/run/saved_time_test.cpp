// SPDX-License-Identifier: Apache-2.0
#include "tools/run/saved_time.hpp"

#include <gtest/gtest.h>

namespace forebay::run {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

TEST(SavedTime, streams_in_turn_save_their_sum) {
  SavedTime saved;
  EXPECT_EQ(saved.seconds(), 0);
  saved.add(0, kSecond, 5);
  saved.add(2 * kSecond, 3 * kSecond, 5);
  EXPECT_DOUBLE_EQ(saved.seconds(), 10);
}

TEST(SavedTime, streams_side_by_side_save_their_mean) {
  SavedTime saved;
  for (int i = 0; i < 4; ++i)
    saved.add(kSecond, 2 * kSecond, 5);
  EXPECT_DOUBLE_EQ(saved.seconds(), 5);
}

TEST(SavedTime, streams_without_savings_do_not_count) {
  SavedTime saved;
  saved.add(0, kSecond, 5);
  saved.add(0, kSecond, 0);
  saved.add(kSecond, kSecond, 1);
  EXPECT_DOUBLE_EQ(saved.seconds(), 5);
}

TEST(SavedTime, streams_of_a_long_job_are_summed) {
  SavedTime saved;
  constexpr std::uint64_t kCount = 4 * SavedTime::kIntervalsMax;
  for (std::uint64_t i = 0; i < kCount; ++i)
    saved.add(i * kSecond, (i + 2) * kSecond, 1);
  EXPECT_NEAR(saved.seconds(), kCount / 2.0, kCount / 100.0);
}

}  // namespace
}  // namespace forebay::run
