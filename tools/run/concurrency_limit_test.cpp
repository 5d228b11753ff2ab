// SPDX-License-Identifier: Apache-2.0
#include "tools/run/concurrency_limit.hpp"

#include <algorithm>
#include <chrono>
#include <queue>
#include <vector>

#include <gtest/gtest.h>

namespace forebay::run {
namespace {

using std::chrono::microseconds;

/// Reads until `count` have ended, from a storage that serves `slots` at a time, each 5 ms.
unsigned limit_after(ConcurrencyLimit& limit, unsigned slots, unsigned count) {
  std::priority_queue<TimePoint, std::vector<TimePoint>, std::greater<>> free_at;
  for (unsigned i = 0; i < slots; ++i)
    free_at.push({});
  std::priority_queue<TimePoint, std::vector<TimePoint>, std::greater<>> ends;
  TimePoint now = {};
  for (unsigned ended = 0; ended < count; ++ended) {
    while (ends.size() < limit.value()) {
      const TimePoint begin = std::max(now, free_at.top());
      free_at.pop();
      free_at.push(begin + microseconds(5000));
      ends.push(begin + microseconds(5000));
    }
    now = ends.top();
    ends.pop();
    limit.record(4096, now, limit.value());
  }
  return limit.value();
}

TEST(ConcurrencyLimit, grows_to_the_concurrency_of_the_storage) {
  ConcurrencyLimit limit;
  EXPECT_GE(limit_after(limit, 64, 5000), 54U);
  ConcurrencyLimit wide;
  EXPECT_GE(limit_after(wide, 1000, 5000), 100U);
}

TEST(ConcurrencyLimit, stays_where_more_reads_at_a_time_gain_nothing) {
  ConcurrencyLimit limit;
  unsigned tried = 0;
  for (int i = 0; i < 50; ++i)
    tried += limit_after(limit, 16, 200) > ConcurrencyLimit::kFirst ? 1 : 0;
  EXPECT_LE(tried, 5U);
}

TEST(ConcurrencyLimit, reads_below_the_limit_decide_nothing) {
  ConcurrencyLimit limit;
  TimePoint now = {};
  for (int i = 0; i < 10'000; ++i)
    limit.record(4096, now += microseconds(10), i % 20 != 0 ? limit.value() : 3);
  EXPECT_EQ(limit.value(), ConcurrencyLimit::kFirst);
}

}  // namespace
}  // namespace forebay::run
