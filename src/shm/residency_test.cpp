// SPDX-License-Identifier: Apache-2.0
#include "shm/residency.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace forebay::shm {
namespace {

constexpr std::uint32_t kSlots = 4;

/// A splinter, and the reference counts of three clients.
struct ResidencyFixture {
  void load_into(std::uint32_t slot) {
    splinter.set_slot(slot);
    splinter.set_residency(Residency::kReady);
  }
  bool pin(std::uint32_t client = 0) const {
    return table.pin(splinter, client) == RefCounts::PinResult::kPinned;
  }
  SlotRefCount::Word unpin(std::uint64_t bytes, std::uint32_t client = 0) const {
    return table.at(client, splinter.slot()).remove_pin(bytes);
  }

  std::array<SlotRefCount, 3 * RefCounts::kCountsPerAlignment> counts;
  RefCounts table{counts, 3, kSlots};
  ResidencyEntry splinter;
};

TEST(Residency, absent_splinter_cannot_be_pinned) {
  ResidencyFixture fixture;
  for (const Residency state : {Residency::kAbsent, Residency::kRequested, Residency::kChanging}) {
    fixture.splinter.set_residency(state);
    EXPECT_EQ(fixture.table.pin(fixture.splinter, 0), RefCounts::PinResult::kNotReady);
  }
  EXPECT_EQ(fixture.table.pins(0), 0U);
}

TEST(Residency, pins_are_counted_for_each_client_and_bytes_add_up) {
  ResidencyFixture fixture;
  fixture.load_into(2);
  ASSERT_TRUE(fixture.pin(0));
  ASSERT_TRUE(fixture.pin(0));
  ASSERT_TRUE(fixture.pin(2));
  EXPECT_EQ(fixture.table.pins(2), 3U);
  EXPECT_EQ(fixture.table.at(0, 2).load().pins(), 2U);
  EXPECT_EQ(fixture.unpin(100, 0).pins(), 1U);
  EXPECT_EQ(fixture.unpin(28, 2).pins(), 0U);
  EXPECT_EQ(fixture.unpin(0, 0).served_bytes(), 100U);
  EXPECT_EQ(fixture.table.pins(2), 0U);
  EXPECT_EQ(fixture.table.served_bytes(2), 128U);
  EXPECT_EQ(fixture.table.served_bytes(1), 0U);
}

TEST(Residency, pinned_splinter_is_not_evicted) {
  ResidencyFixture fixture;
  fixture.load_into(1);
  ASSERT_TRUE(fixture.pin(1));
  EXPECT_FALSE(fixture.table.try_evict(fixture.splinter));
  EXPECT_EQ(fixture.splinter.load().residency(), Residency::kReady);
  fixture.unpin(7, 1);
  EXPECT_TRUE(fixture.table.try_evict(fixture.splinter));
  EXPECT_EQ(fixture.splinter.load().residency(), Residency::kAbsent);
  EXPECT_EQ(fixture.splinter.load().generation(), 1U);
  EXPECT_FALSE(fixture.table.try_evict(fixture.splinter));
}

TEST(Residency, dropping_a_row_releases_the_pins_of_its_client) {
  ResidencyFixture fixture;
  fixture.load_into(3);
  ASSERT_TRUE(fixture.pin(1));
  fixture.unpin(50, 1);
  ASSERT_TRUE(fixture.pin(1));
  fixture.table.at(1, 3).drop_pins();
  EXPECT_EQ(fixture.table.served_bytes(3), 50U) << "served bytes are kept";
  EXPECT_TRUE(fixture.table.try_evict(fixture.splinter));
}

TEST(Residency, pins_are_limited) {
  ResidencyFixture fixture;
  fixture.load_into(0);
  for (std::uint32_t i = 0; i < SlotRefCount::kPinsMax; ++i)
    ASSERT_TRUE(fixture.pin());
  EXPECT_FALSE(fixture.pin());
  EXPECT_TRUE(fixture.pin(1)) << "the limit is for each client";
  EXPECT_EQ(fixture.table.pins(0), SlotRefCount::kPinsMax + 1);
}

TEST(Residency, served_bytes_wrap_without_touching_the_pins) {
  ResidencyFixture fixture;
  fixture.load_into(0);
  ASSERT_TRUE(fixture.pin());
  const std::uint64_t nearly_all = (1ULL << 48U) - 1;
  ASSERT_TRUE(fixture.pin());
  EXPECT_EQ(fixture.unpin(nearly_all).pins(), 1U);
  const std::uint64_t before = fixture.table.served_bytes(0);
  ASSERT_TRUE(fixture.pin());
  EXPECT_EQ(fixture.unpin(11).pins(), 1U);
  EXPECT_EQ(fixture.table.served_bytes(0), 10U);
  EXPECT_EQ(RefCounts::wrapped_difference(fixture.table.served_bytes(0), before), 11U);
}

TEST(Residency, generation_wraps_without_touching_the_state) {
  ResidencyFixture fixture;
  for (int i = 0; i < 3; ++i) {
    fixture.load_into(0);
    ASSERT_TRUE(fixture.table.try_evict(fixture.splinter));
  }
  EXPECT_EQ(fixture.splinter.load().generation(), 3U);
  EXPECT_EQ(fixture.splinter.load().residency(), Residency::kAbsent);
}

// Invariant of the design: the holder of a pin sees one content, however often other threads evict
// and reload.
TEST(Residency, pin_and_eviction_never_overlap) {
  ResidencyFixture fixture;
  std::atomic<std::uint32_t> content{0};  // stands for the slot's bytes
  std::atomic<bool> stop{false};
  std::atomic<int> torn{0};
  fixture.load_into(1);
  std::vector<std::thread> readers;
  for (std::uint32_t client = 0; client < 3; ++client) {
    readers.emplace_back([&, client] {
      while (!stop.load()) {
        if (!fixture.pin(client)) continue;
        const std::uint32_t before = content.load();
        for (int look = 0; look < 10; ++look) {
          if (content.load() != before) ++torn;
        }
        fixture.unpin(1, client);
        std::this_thread::yield();  // otherwise a pin is always held, and eviction never succeeds
      }
    });
  }
  int evictions = 0;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (evictions < 2'000 && std::chrono::steady_clock::now() < deadline) {
    if (!fixture.table.try_evict(fixture.splinter)) {
      std::this_thread::yield();
      continue;
    }
    ++evictions;
    content.fetch_add(1);
    fixture.load_into(1);
  }
  stop = true;
  for (std::thread& reader : readers)
    reader.join();
  EXPECT_EQ(torn.load(), 0);
  EXPECT_EQ(evictions, 2'000);
  EXPECT_EQ(fixture.table.pins(1), 0U);
}

}  // namespace
}  // namespace forebay::shm
