// SPDX-License-Identifier: Apache-2.0
#include "tipsy/compute_meter.hpp"

#include <ctime>
#include <thread>

#include <gtest/gtest.h>

namespace forebay::tipsy {
namespace {

double thread_cpu_s() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Computes for so long, however often it is interrupted.
void burn(double cpu_s) {
  const double end_s = thread_cpu_s() + cpu_s;
  while (thread_cpu_s() < end_s) {
  }
}

// A machine busy with other things once made the arithmetic of tasks look slow.
TEST(ComputeMeter, time_without_a_processor_is_no_computing) {
  ComputeMeter meter;
  const double before_s = thread_cpu_s();
  {
    const ComputeMeter::Spell spell(meter);
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
  }
  EXPECT_LE(meter.spent_cpu_s(), thread_cpu_s() - before_s);
}

TEST(ComputeMeter, adds_up_what_a_thread_computes) {
  ComputeMeter meter;
  EXPECT_EQ(meter.first(), ComputeMeter::Clock::time_point{});
  const auto before = ComputeMeter::Clock::now();
  for (int i = 0; i < 2; ++i) {
    const ComputeMeter::Spell spell(meter);
    burn(0.01);
  }
  burn(0.01);
  EXPECT_GE(meter.first(), before);
  EXPECT_GE(meter.spent_cpu_s(), 0.019);
}

}  // namespace
}  // namespace forebay::tipsy
