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

/// A splinter, and the ledger of three clients.
struct Place {
  void settle_in(std::uint32_t slot) {
    splinter.set_slot(slot);
    splinter.set_residency(Residency::kReady);
  }
  bool pin(std::uint32_t client = 0) const {
    return ledger.pin(splinter, client) == Ledger::Pin::kHeld;
  }
  Mark::Word unpin(std::uint64_t bytes, std::uint32_t client = 0) const {
    return ledger.at(client, splinter.slot()).remove_pin(bytes);
  }

  std::array<Mark, 3 * Ledger::kRowAlignment> marks;
  Ledger ledger{marks, 3, kSlots};
  Splinter splinter;
};

TEST(Residency, absent_splinter_cannot_be_pinned) {
  Place place;
  for (const Residency state : {Residency::kAbsent, Residency::kWanted, Residency::kLoading}) {
    place.splinter.set_residency(state);
    EXPECT_EQ(place.ledger.pin(place.splinter, 0), Ledger::Pin::kNotReady);
  }
  EXPECT_EQ(place.ledger.pins(0), 0U);
}

TEST(Residency, pins_are_counted_for_each_client_and_bytes_add_up) {
  Place place;
  place.settle_in(2);
  ASSERT_TRUE(place.pin(0));
  ASSERT_TRUE(place.pin(0));
  ASSERT_TRUE(place.pin(2));
  EXPECT_EQ(place.ledger.pins(2), 3U);
  EXPECT_EQ(place.ledger.at(0, 2).load().pins(), 2U);
  EXPECT_EQ(place.unpin(100, 0).pins(), 1U);
  EXPECT_EQ(place.unpin(28, 2).pins(), 0U);
  EXPECT_EQ(place.unpin(0, 0).served_bytes(), 100U);
  EXPECT_EQ(place.ledger.pins(2), 0U);
  EXPECT_EQ(place.ledger.served_bytes(2), 128U);
  EXPECT_EQ(place.ledger.served_bytes(1), 0U);
}

TEST(Residency, pinned_splinter_is_not_evicted) {
  Place place;
  place.settle_in(1);
  ASSERT_TRUE(place.pin(1));
  EXPECT_FALSE(place.ledger.try_evict(place.splinter));
  EXPECT_EQ(place.splinter.load().residency(), Residency::kReady);
  place.unpin(7, 1);
  EXPECT_TRUE(place.ledger.try_evict(place.splinter));
  EXPECT_EQ(place.splinter.load().residency(), Residency::kAbsent);
  EXPECT_EQ(place.splinter.load().generation(), 1U);
  EXPECT_FALSE(place.ledger.try_evict(place.splinter));
}

TEST(Residency, what_a_client_held_ends_with_its_row) {
  Place place;
  place.settle_in(3);
  ASSERT_TRUE(place.pin(1));
  place.unpin(50, 1);
  ASSERT_TRUE(place.pin(1));
  place.ledger.at(1, 3).drop_pins();
  EXPECT_EQ(place.ledger.served_bytes(3), 50U) << "bytes that were handed out stay so";
  EXPECT_TRUE(place.ledger.try_evict(place.splinter));
}

TEST(Residency, pins_end_at_their_limit) {
  Place place;
  place.settle_in(0);
  for (std::uint32_t i = 0; i < Mark::kPinsMax; ++i)
    ASSERT_TRUE(place.pin());
  EXPECT_FALSE(place.pin());
  EXPECT_TRUE(place.pin(1)) << "each client has its own";
  EXPECT_EQ(place.ledger.pins(0), Mark::kPinsMax + 1);
}

TEST(Residency, served_bytes_wrap_without_touching_the_pins) {
  Place place;
  place.settle_in(0);
  ASSERT_TRUE(place.pin());
  const std::uint64_t nearly_all = (1ULL << 48U) - 1;
  ASSERT_TRUE(place.pin());
  EXPECT_EQ(place.unpin(nearly_all).pins(), 1U);
  const std::uint64_t before = place.ledger.served_bytes(0);
  ASSERT_TRUE(place.pin());
  EXPECT_EQ(place.unpin(11).pins(), 1U);
  EXPECT_EQ(place.ledger.served_bytes(0), 10U);
  EXPECT_EQ(Ledger::difference(place.ledger.served_bytes(0), before), 11U);
}

TEST(Residency, generation_wraps_without_touching_the_state) {
  Place place;
  for (int i = 0; i < 3; ++i) {
    place.settle_in(0);
    ASSERT_TRUE(place.ledger.try_evict(place.splinter));
  }
  EXPECT_EQ(place.splinter.load().generation(), 3U);
  EXPECT_EQ(place.splinter.load().residency(), Residency::kAbsent);
}

// What the design stands on: whoever holds a pin sees one content, however often others evict and
// reload.
TEST(Residency, pin_and_eviction_never_overlap) {
  Place place;
  std::atomic<std::uint32_t> content{0};  // stands for the slot's bytes
  std::atomic<bool> stop{false};
  std::atomic<int> torn{0};
  place.settle_in(1);
  std::vector<std::thread> readers;
  for (std::uint32_t client = 0; client < 3; ++client) {
    readers.emplace_back([&, client] {
      while (!stop.load()) {
        if (!place.pin(client)) continue;
        const std::uint32_t before = content.load();
        for (int look = 0; look < 10; ++look) {
          if (content.load() != before) ++torn;
        }
        place.unpin(1, client);
        std::this_thread::yield();  // most of the time nobody holds it, or nothing is ever evicted
      }
    });
  }
  int evictions = 0;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (evictions < 2'000 && std::chrono::steady_clock::now() < deadline) {
    if (!place.ledger.try_evict(place.splinter)) {
      std::this_thread::yield();
      continue;
    }
    ++evictions;
    content.fetch_add(1);
    place.settle_in(1);
  }
  stop = true;
  for (std::thread& reader : readers)
    reader.join();
  EXPECT_EQ(torn.load(), 0);
  EXPECT_EQ(evictions, 2'000);
  EXPECT_EQ(place.ledger.pins(1), 0U);
}

}  // namespace
}  // namespace forebay::shm
