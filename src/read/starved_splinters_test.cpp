// SPDX-License-Identifier: Apache-2.0
#include "read/starved_splinters.hpp"

#include <gtest/gtest.h>

#include "read/schedule_testing.hpp"

namespace forebay::read {
namespace {

class StarvedSplintersTest : public ::testing::Test {
 protected:
  StarvedSplintersTest() {
    bench.table.header().slots = 1;
    bench.want(0);
    bench.run();
  }

  Bench bench{8, {.slots = 1, .slots_max = 1}};
  StarvedSplinters starved;
};

TEST_F(StarvedSplintersTest, each_request_takes_the_news_once_while_all_memory_is_held) {
  ASSERT_TRUE(bench.pin(0));
  starved.set(5, 2);
  EXPECT_FALSE(starved.contains(4, bench.table));
  EXPECT_TRUE(starved.contains(5, bench.table));
  EXPECT_TRUE(starved.take(5, bench.table));
  EXPECT_TRUE(starved.take(5, bench.table));
  EXPECT_FALSE(starved.take(5, bench.table));
}

TEST_F(StarvedSplintersTest, news_that_came_before_a_release_is_dropped_but_not_for_ever) {
  starved.set(5, 2);
  EXPECT_FALSE(starved.take(5, bench.table));
  ASSERT_TRUE(bench.pin(0));
  EXPECT_FALSE(starved.take(5, bench.table)) << "it was dropped";
  bench.unpin(0, 0);
  int dropped = 0;
  for (starved.set(5, 1); !starved.take(5, bench.table) && dropped < 100; starved.set(5, 1))
    ++dropped;
  EXPECT_LT(dropped, 20) << "a request does not ask again for ever";
}

}  // namespace
}  // namespace forebay::read
