// SPDX-License-Identifier: Apache-2.0
#include "tools/emufs/processors.hpp"

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

/// The least that anybody on this machine has asked for, in us.
std::optional<std::int32_t> demanded() {
  const Descriptor latency(::open("/dev/cpu_dma_latency", O_RDONLY | O_CLOEXEC));
  std::int32_t us = 0;
  if (!latency || ::read(latency.get(), &us, sizeof us) != sizeof us) return std::nullopt;
  return us;
}

TEST(Processors, halt_as_they_like_unless_told_otherwise) {
  Processors processors;
  processors.use(1s);
  EXPECT_EQ(processors.next_rest(), Time::max());
  processors.rest(2s);
  EXPECT_EQ(processors.next_rest(), Time::max());
}

TEST(Processors, stay_awake_while_somebody_waits_and_a_little_longer) {
  auto processors = Processors::open();
  if (!processors) {  // no root, or no such device
    EXPECT_EQ(processors.error().path(), "/dev/cpu_dma_latency");
    return;
  }
  processors->use(1s);
  EXPECT_EQ(demanded(), 0);
  EXPECT_EQ(processors->next_rest(), 1s + 20ms);
  processors->use(1s + 10ms);
  EXPECT_EQ(processors->next_rest(), 1s + 30ms);
  processors->rest(1s + 29ms);
  EXPECT_EQ(processors->next_rest(), 1s + 30ms);
  processors->rest(1s + 30ms);
  EXPECT_EQ(processors->next_rest(), Time::max());
}

}  // namespace
}  // namespace forebay::emufs
