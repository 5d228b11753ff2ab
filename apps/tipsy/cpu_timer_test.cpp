// SPDX-License-Identifier: Apache-2.0
#include "tipsy/cpu_timer.hpp"

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

/// Computes for `cpu_s` seconds of processor time, however often it is interrupted.
void spin(double cpu_s) {
  const double end_s = thread_cpu_s() + cpu_s;
  while (thread_cpu_s() < end_s) {
  }
}

// Regression: on a busy machine the arithmetic of tasks looked slow.
TEST(CpuTimer, time_without_a_processor_is_not_counted) {
  CpuTimer meter;
  const double before_s = thread_cpu_s();
  {
    const CpuTimer::Scope spell(meter);
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
  }
  EXPECT_LE(meter.cpu_time_s(), thread_cpu_s() - before_s);
}

TEST(CpuTimer, sums_all_scopes_of_a_thread) {
  CpuTimer meter;
  EXPECT_EQ(meter.first_start(), CpuTimer::Clock::time_point{});
  const auto before = CpuTimer::Clock::now();
  for (int i = 0; i < 2; ++i) {
    const CpuTimer::Scope spell(meter);
    spin(0.01);
  }
  spin(0.01);
  EXPECT_GE(meter.first_start(), before);
  EXPECT_GE(meter.cpu_time_s(), 0.019);
}

}  // namespace
}  // namespace forebay::tipsy
