// SPDX-License-Identifier: Apache-2.0
#include "tools/emufs/alarm.hpp"

#include <gtest/gtest.h>

namespace forebay::emufs {
namespace {

using namespace std::chrono_literals;

void ring(Alarm& alarm, int times, model::Time late) {
  for (int i = 0; i < times; ++i)
    alarm.rang(late);
}

TEST(Alarm, is_set_earlier_where_it_rings_late) {
  Alarm alarm;
  const model::Time first = alarm.lead();
  ring(alarm, 1000, 90us);
  EXPECT_GT(alarm.lead(), first);
  EXPECT_GE(alarm.lead(), 89us);
  EXPECT_LE(alarm.lead(), 95us);
}

TEST(Alarm, comes_back_when_it_rings_in_time_again) {
  Alarm alarm;
  const model::Time first = alarm.lead();
  ring(alarm, 1000, 90us);
  ring(alarm, 1000, 2us);
  EXPECT_EQ(alarm.lead(), first);
}

TEST(Alarm, is_bounded_whatever_happens) {
  Alarm alarm;
  ring(alarm, 1000, 1s);
  EXPECT_LE(alarm.lead(), 200us);
}

TEST(Alarm, lets_one_of_six_be_late) {
  Alarm alarm;
  for (int i = 0; i < 3000; ++i)
    alarm.rang(i % 10 == 0 ? 150us : 60us);
  EXPECT_LE(alarm.lead(), 70us);
}

}  // namespace
}  // namespace forebay::emufs
