// SPDX-License-Identifier: Apache-2.0
#include "tools/emufs/cpu_latency.hpp"

#include <chrono>
#include <cstdint>
#include <optional>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace forebay::emufs {
namespace {

using namespace std::chrono_literals;
using model::Time;

/// The smallest latency that any process on this machine has requested, in us.
std::optional<std::int32_t> read_latency() {
  const Descriptor latency(::open("/dev/cpu_dma_latency", O_RDONLY | O_CLOEXEC));
  std::int32_t us = 0;
  if (!latency || ::read(latency.get(), &us, sizeof us) != sizeof us) return std::nullopt;
  return us;
}

TEST(CpuLatency, inactive_by_default) {
  CpuLatency cpu_latency;
  cpu_latency.keep_active(1s);
  EXPECT_EQ(cpu_latency.next_release(), Time::max());
  cpu_latency.release_if_idle(2s);
  EXPECT_EQ(cpu_latency.next_release(), Time::max());
}

TEST(CpuLatency, stays_active_for_20_ms_after_the_last_waiting_request) {
  auto cpu_latency = CpuLatency::open();
  if (!cpu_latency) {  // no root, or no such device
    EXPECT_EQ(cpu_latency.error().path(), "/dev/cpu_dma_latency");
    return;
  }
  cpu_latency->keep_active(1s);
  EXPECT_EQ(read_latency(), 0);
  EXPECT_EQ(cpu_latency->next_release(), 1s + 20ms);
  cpu_latency->keep_active(1s + 10ms);
  EXPECT_EQ(cpu_latency->next_release(), 1s + 30ms);
  cpu_latency->release_if_idle(1s + 29ms);
  EXPECT_EQ(cpu_latency->next_release(), 1s + 30ms);
  cpu_latency->release_if_idle(1s + 30ms);
  EXPECT_EQ(cpu_latency->next_release(), Time::max());
}

}  // namespace
}  // namespace forebay::emufs
