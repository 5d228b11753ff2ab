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

TEST_F(StarvedSplintersTest, news_that_came_before_a_release_is_dropped_once) {
  starved.set(5, 2);
  EXPECT_FALSE(starved.take(5, bench.table));
  ASSERT_TRUE(bench.pin(0));
  EXPECT_FALSE(starved.take(5, bench.table)) << "it was dropped";
  bench.unpin(0, 0);
  starved.set(5, 1);
  EXPECT_TRUE(starved.take(5, bench.table)) << "a request does not ask again for ever";
  starved.set(5, 1);
  EXPECT_FALSE(starved.take(5, bench.table)) << "the next one does once";
}

}  // namespace
}  // namespace forebay::read
