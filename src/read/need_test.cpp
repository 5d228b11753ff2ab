// SPDX-License-Identifier: Apache-2.0
#include "read/need.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace forebay::read {
namespace {

Need numbered(NumberedNeeds& needs, SplinterIndex splinter) {
  Need need{.splinter = splinter, .part = {0, 1}};
  needs.number(need);
  return need;
}

TEST(NumberedNeeds, news_is_for_needs_that_waited_by_then) {
  NumberedNeeds needs;
  Need first = numbered(needs, 5);
  const Need second = numbered(needs, 5);
  const Need other = numbered(needs, 4);
  needs.starve(5, needs.last());
  const Need later = numbered(needs, 5);
  for (int look = 0; look < 2; ++look) {
    EXPECT_TRUE(needs.is_starved(first));
    EXPECT_TRUE(needs.is_starved(second));
    EXPECT_FALSE(needs.is_starved(other));
    EXPECT_FALSE(needs.is_starved(later));
  }
  needs.number(first);
  EXPECT_TRUE(needs.is_starved(first)) << "a number is kept";
}

TEST(NumberedNeeds, news_may_be_about_some_of_the_needs) {
  NumberedNeeds needs;
  const Need first = numbered(needs, 5);
  const Need second = numbered(needs, 5);
  needs.starve(5, first.number);
  EXPECT_TRUE(needs.is_starved(first));
  EXPECT_FALSE(needs.is_starved(second));
}

TEST(NumberedNeeds, a_need_that_never_waited_is_not_starved) {
  NumberedNeeds needs;
  static_cast<void>(numbered(needs, 5));
  needs.starve(5, needs.last());
  EXPECT_FALSE(needs.is_starved({.splinter = 5}));
}

TEST(NumberedNeeds, news_about_many_splinters_waits_for_all_needs) {
  NumberedNeeds needs;
  std::vector<Need> all;
  for (SplinterIndex splinter = 0; splinter < 8192; ++splinter)
    all.push_back(numbered(needs, splinter));
  for (const Need& need : all)
    needs.starve(need.splinter, needs.last());
  for (const Need& need : all)
    ASSERT_TRUE(needs.is_starved(need)) << need.splinter;
}

}  // namespace
}  // namespace forebay::read
