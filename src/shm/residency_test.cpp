// SPDX-License-Identifier: Apache-2.0
#include "shm/residency.hpp"

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace forebay::shm {
namespace {

TEST(Residency, absent_splinter_cannot_be_pinned) {
  Splinter splinter;
  EXPECT_FALSE(splinter.try_pin());
  splinter.set_residency(Residency::kWanted);
  EXPECT_FALSE(splinter.try_pin());
  splinter.set_residency(Residency::kLoading);
  EXPECT_FALSE(splinter.try_pin());
  EXPECT_EQ(splinter.load().pins(), 0U);
}

TEST(Residency, pins_are_counted_and_bytes_add_up) {
  Splinter splinter;
  splinter.set_residency(Residency::kReady);
  ASSERT_TRUE(splinter.try_pin());
  ASSERT_TRUE(splinter.try_pin());
  EXPECT_EQ(splinter.load().pins(), 2U);
  EXPECT_EQ(splinter.unpin(100).pins(), 1U);
  const Splinter::Word after = splinter.unpin(28);
  EXPECT_EQ(after.pins(), 0U);
  EXPECT_EQ(after.served_bytes(), 128U);
  EXPECT_EQ(after.residency(), Residency::kReady);
}

TEST(Residency, pinned_splinter_is_not_evicted) {
  Splinter splinter;
  splinter.set_residency(Residency::kReady);
  ASSERT_TRUE(splinter.try_pin());
  EXPECT_FALSE(splinter.try_evict());
  splinter.unpin(7);
  EXPECT_TRUE(splinter.try_evict());
  EXPECT_EQ(splinter.load().residency(), Residency::kAbsent);
  EXPECT_EQ(splinter.load().served_bytes(), 0U);
  EXPECT_EQ(splinter.load().generation(), 1U);
  EXPECT_FALSE(splinter.try_evict());
}

TEST(Residency, pins_end_at_their_limit) {
  Splinter splinter;
  splinter.set_residency(Residency::kReady);
  for (std::uint32_t i = 0; i < Splinter::kPinsMax; ++i)
    ASSERT_TRUE(splinter.try_pin());
  EXPECT_FALSE(splinter.try_pin());
  EXPECT_EQ(splinter.load().pins(), Splinter::kPinsMax);
}

TEST(Residency, served_bytes_never_reach_the_pins) {
  Splinter splinter;
  splinter.set_residency(Residency::kReady);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(splinter.try_pin());
    EXPECT_EQ(splinter.unpin(16U << 20U).pins(), 0U);
  }
  EXPECT_EQ(splinter.load().residency(), Residency::kReady);
  EXPECT_GT(splinter.load().served_bytes(), 1U << 29U);
}

TEST(Residency, generation_wraps_without_touching_the_state) {
  Splinter splinter;
  for (int i = 0; i < 0x4001; ++i) {
    splinter.set_residency(Residency::kReady);
    ASSERT_TRUE(splinter.try_evict());
  }
  EXPECT_EQ(splinter.load().generation(), 1U);
  EXPECT_EQ(splinter.load().residency(), Residency::kAbsent);
}

// What the design stands on: whoever holds a pin sees one generation, however often others evict
// and reload.
TEST(Residency, pin_and_eviction_never_overlap) {
  Splinter splinter;
  std::atomic<std::uint32_t> content{
      0};  // stands for the slot's bytes; changed only while nobody may look
  std::atomic<bool> stop{false};
  std::atomic<int> torn{0};
  splinter.set_residency(Residency::kReady);
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&] {
      while (!stop.load()) {
        if (!splinter.try_pin()) continue;
        const std::uint32_t before = content.load();
        for (int look = 0; look < 10; ++look) {
          if (content.load() != before) ++torn;
        }
        splinter.unpin(1);
        std::this_thread::yield();  // most of the time nobody holds it, or nothing is ever evicted
      }
    });
  }
  int evictions = 0;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (evictions < 2'000 && std::chrono::steady_clock::now() < deadline) {
    if (!splinter.try_evict()) {
      std::this_thread::yield();
      continue;
    }
    ++evictions;
    splinter.set_residency(Residency::kLoading);
    content.fetch_add(1);
    splinter.set_residency(Residency::kReady);
  }
  stop = true;
  for (std::thread& reader : readers)
    reader.join();
  EXPECT_EQ(torn.load(), 0);
  EXPECT_EQ(evictions, 2'000);
  EXPECT_EQ(splinter.load().pins(), 0U);
}

}  // namespace
}  // namespace forebay::shm
