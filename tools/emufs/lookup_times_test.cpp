// SPDX-License-Identifier: Apache-2.0
#include "tools/emufs/lookup_times.hpp"

#include <chrono>

#include <gtest/gtest.h>

namespace forebay::emufs {
namespace {

using namespace std::chrono_literals;

TEST(LookupTimes, call_begins_with_its_first_lookup) {
  LookupTimes times;
  times.add(7, 100us, 120us);
  times.add(7, 150us, 170us);
  EXPECT_EQ(times.consume(7, 200us), model::Time(100us));
  EXPECT_EQ(times.consume(7, 210us), std::nullopt);
}

TEST(LookupTimes, old_lookups_and_those_of_other_threads_do_not_count) {
  LookupTimes times;
  times.add(7, 100us, 120us);
  EXPECT_EQ(times.consume(8, 130us), std::nullopt);
  EXPECT_EQ(times.consume(7, 500us), std::nullopt);
  times.add(7, 1000us, 1010us);
  times.add(7, 2000us, 2010us);
  EXPECT_EQ(times.consume(7, 2020us), model::Time(2000us));
}

TEST(LookupTimes, threads_that_share_an_entry_do_not_get_wrong_times) {
  LookupTimes times;
  times.add(7, 100us, 120us);
  times.add(7 + 256, 110us, 130us);
  EXPECT_EQ(times.consume(7, 140us), std::nullopt);
  EXPECT_EQ(times.consume(7 + 256, 140us), model::Time(110us));
}

}  // namespace
}  // namespace forebay::emufs
