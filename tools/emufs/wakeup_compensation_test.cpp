// SPDX-License-Identifier: Apache-2.0
#include "tools/emufs/wakeup_compensation.hpp"

#include <gtest/gtest.h>

namespace forebay::emufs {
namespace {

using namespace std::chrono_literals;

void record_delays(WakeupCompensation& wakeup, int times, model::Time late) {
  for (int i = 0; i < times; ++i)
    wakeup.record_delay(late);
}

TEST(WakeupCompensation, late_wakeups_raise_the_lead) {
  WakeupCompensation wakeup;
  const model::Time first = wakeup.lead();
  record_delays(wakeup, 1000, 90us);
  EXPECT_GT(wakeup.lead(), first);
  EXPECT_GE(wakeup.lead(), 89us);
  EXPECT_LE(wakeup.lead(), 95us);
}

TEST(WakeupCompensation, timely_wakeups_lower_the_lead) {
  WakeupCompensation wakeup;
  const model::Time first = wakeup.lead();
  record_delays(wakeup, 1000, 90us);
  record_delays(wakeup, 1000, 2us);
  EXPECT_EQ(wakeup.lead(), first);
}

TEST(WakeupCompensation, lead_is_bounded) {
  WakeupCompensation wakeup;
  record_delays(wakeup, 1000, 1s);
  EXPECT_LE(wakeup.lead(), 200us);
}

TEST(WakeupCompensation, one_of_six_wakeups_is_late) {
  WakeupCompensation wakeup;
  for (int i = 0; i < 3000; ++i)
    wakeup.record_delay(i % 10 == 0 ? 150us : 60us);
  EXPECT_LE(wakeup.lead(), 70us);
}

}  // namespace
}  // namespace forebay::emufs
