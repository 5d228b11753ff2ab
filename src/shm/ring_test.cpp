// SPDX-License-Identifier: Apache-2.0
#include "shm/ring.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <random>
#include <thread>

#include <gtest/gtest.h>

namespace forebay::shm {
namespace {

struct Note {
  std::uint64_t number = 0;
  std::array<std::uint32_t, 3> rest{};  // no power of two, so that slots do not fall on lines
};

constexpr std::uint64_t kCapacity = 8;

/// A ring in this process; the header can be damaged by hand.
class RingTest : public ::testing::Test {
 protected:
  RingHeader& header() { return *reinterpret_cast<RingHeader*>(memory_.data()); }

  alignas(kLinesApartBytes) std::array<std::byte, ring_bytes<Note>(kCapacity)> memory_{};
  RingWriter<Note> writer_ = *RingWriter<Note>::attach(memory_);
  RingReader<Note> reader_ = *RingReader<Note>::attach(memory_);
  Note note_;
};

TEST_F(RingTest, messages_come_out_in_order_and_whole) {
  for (std::uint64_t i = 0; i < 5 * kCapacity; ++i) {
    ASSERT_EQ(writer_.try_push({.number = i, .rest = {1, 2, 3}}), RingOutcome::kDone);
    ASSERT_EQ(writer_.try_push({.number = i + 1000}), RingOutcome::kDone);
    ASSERT_EQ(reader_.try_pop(note_), RingOutcome::kDone);
    EXPECT_EQ(note_.number, i);
    EXPECT_EQ(note_.rest[2], 3U);
    ASSERT_EQ(reader_.try_pop(note_), RingOutcome::kDone);
    EXPECT_EQ(note_.number, i + 1000);
  }
  EXPECT_EQ(reader_.try_pop(note_), RingOutcome::kEmpty);
}

TEST_F(RingTest, full_ring_takes_no_more_and_loses_nothing) {
  for (std::uint64_t i = 0; i < kCapacity; ++i)
    ASSERT_EQ(writer_.try_push({.number = i}), RingOutcome::kDone);
  EXPECT_EQ(writer_.try_push({.number = 99}), RingOutcome::kFull);
  ASSERT_EQ(reader_.try_pop(note_), RingOutcome::kDone);
  EXPECT_EQ(note_.number, 0U);
  EXPECT_EQ(writer_.try_push({.number = kCapacity}), RingOutcome::kDone);
  for (std::uint64_t i = 1; i <= kCapacity; ++i) {
    ASSERT_EQ(reader_.try_pop(note_), RingOutcome::kDone);
    EXPECT_EQ(note_.number, i);
  }
}

TEST_F(RingTest, reader_that_attaches_late_finds_what_was_written) {
  ASSERT_EQ(writer_.try_push({.number = 5}), RingOutcome::kDone);
  auto late = RingReader<Note>::attach(memory_);
  ASSERT_TRUE(late);
  ASSERT_EQ(late->try_pop(note_), RingOutcome::kDone);
  EXPECT_EQ(note_.number, 5U);
}

TEST_F(RingTest, bell_is_asked_for_once_and_only_by_a_sleeper) {
  ASSERT_EQ(writer_.try_push({}), RingOutcome::kDone);
  EXPECT_FALSE(writer_.take_bell_request());
  EXPECT_FALSE(reader_.may_sleep()) << "there is a message";
  ASSERT_EQ(reader_.try_pop(note_), RingOutcome::kDone);
  EXPECT_FALSE(reader_.take_bell_request());
  EXPECT_TRUE(reader_.may_sleep());
  ASSERT_EQ(writer_.try_push({}), RingOutcome::kDone);
  EXPECT_TRUE(writer_.take_bell_request());
  EXPECT_FALSE(writer_.take_bell_request());
}

TEST_F(RingTest, writer_that_waits_for_room_asks_for_its_bell) {
  EXPECT_FALSE(writer_.may_sleep()) << "there is room";
  while (writer_.try_push({}) == RingOutcome::kDone) {
  }
  EXPECT_TRUE(writer_.may_sleep());
  ASSERT_EQ(reader_.try_pop(note_), RingOutcome::kDone);
  EXPECT_TRUE(reader_.take_bell_request());
  EXPECT_FALSE(reader_.take_bell_request());
  EXPECT_FALSE(writer_.may_sleep());
}

TEST_F(RingTest, impossible_index_of_the_writer_breaks_the_reader_for_good) {
  header().tail = kCapacity + 1;
  EXPECT_FALSE(reader_.may_sleep()) << "would never be woken";
  EXPECT_EQ(reader_.try_pop(note_), RingOutcome::kBroken);
  header().tail = 1;
  EXPECT_EQ(reader_.try_pop(note_), RingOutcome::kBroken);
}

TEST_F(RingTest, writer_that_goes_back_breaks_the_reader) {
  ASSERT_EQ(writer_.try_push({}), RingOutcome::kDone);
  ASSERT_EQ(reader_.try_pop(note_), RingOutcome::kDone);
  header().tail = 0;
  EXPECT_EQ(reader_.try_pop(note_), RingOutcome::kBroken);
}

TEST_F(RingTest, impossible_index_of_the_reader_breaks_the_writer_for_good) {
  while (writer_.try_push({}) == RingOutcome::kDone) {
  }
  header().head = kCapacity + 1;
  EXPECT_FALSE(writer_.may_sleep()) << "would never be woken";
  EXPECT_EQ(writer_.try_push({}), RingOutcome::kBroken);
  header().head = 0;
  EXPECT_EQ(writer_.try_push({}), RingOutcome::kBroken);
}

TEST_F(RingTest, own_index_in_shared_memory_is_not_believed) {
  ASSERT_EQ(writer_.try_push({.number = 1}), RingOutcome::kDone);
  header().tail = 77;
  header().head = 78;
  ASSERT_EQ(writer_.try_push({.number = 2}), RingOutcome::kDone);  // publishes its own again
  ASSERT_EQ(reader_.try_pop(note_), RingOutcome::kDone);
  EXPECT_EQ(note_.number, 1U);
  EXPECT_EQ(header().head.load(), 1U);
}

// Whatever the other side does to the header: no more messages than there are slots at a time, and
// an end; the address sanitizer looks at the accesses.
TEST(Ring, random_damage_is_survived) {
  constexpr std::uint32_t kSeed = 20261;
  std::mt19937_64 random(kSeed);
  for (int round = 0; round < 2'000; ++round) {
    alignas(kLinesApartBytes) std::array<std::byte, ring_bytes<Note>(kCapacity)> memory{};
    auto* const header = reinterpret_cast<RingHeader*>(memory.data());
    auto writer = *RingWriter<Note>::attach(memory);
    auto reader = *RingReader<Note>::attach(memory);
    Note note;
    for (int step = 0; step < 20; ++step) {
      std::atomic<std::uint64_t>& victim = random() % 2 == 0 ? header->head : header->tail;
      victim = random() >> (random() % 64);
      if (random() % 4 == 0) victim = std::numeric_limits<std::uint64_t>::max() - random() % 16;
      header->reader_sleeps = static_cast<std::uint32_t>(random());
      std::uint64_t pushed = 0;
      while (writer.try_push({}) == RingOutcome::kDone)
        ASSERT_LE(++pushed, 2 * kCapacity) << "seed " << kSeed << " round " << round;
      std::uint64_t popped = 0;
      while (reader.try_pop(note) == RingOutcome::kDone)
        ASSERT_LE(++popped, 2 * kCapacity) << "seed " << kSeed << " round " << round;
      static_cast<void>(writer.take_bell_request());
    }
  }
}

/// Lets two threads take a step at the same moment, as exactly as two threads can, many times.
/// Returns in how many rounds `falls_asleep` was true and `rings` was not: somebody would sleep for
/// ever. `settle` makes all as before, after each round, in the sleeper's thread.
template <class Sleeper, class Waker, class Settle>
int count_lost(const Sleeper& falls_asleep, const Waker& rings, const Settle& settle) {
  constexpr int kRounds = 200'000;
  std::atomic<int> arrived{0};
  const auto meet = [&arrived](int times) {
    arrived.fetch_add(1);
    for (int spins = 1; arrived.load() < 2 * times; ++spins)
      if (spins % 1'024 == 0) std::this_thread::yield();  // the other one may have no core
  };
  bool has_rung = false;
  bool is_over = false;
  std::thread waker([&] {
    for (int round = 1;; ++round) {
      meet(2 * round - 1);
      if (is_over) return;
      has_rung = rings();
      meet(2 * round);
    }
  });
  int lost = 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  for (int round = 1;; ++round) {
    is_over = round == kRounds || std::chrono::steady_clock::now() > end;
    meet(2 * round - 1);
    if (is_over) break;
    const bool sleeps = falls_asleep();
    meet(2 * round);
    if (sleeps && !has_rung) ++lost;
    settle();
  }
  waker.join();
  return lost;
}

TEST_F(RingTest, either_the_sleeper_sees_the_message_or_the_writer_sees_the_sleeper) {
  const int lost = count_lost([this] { return reader_.may_sleep(); },
                              [this] {
                                EXPECT_EQ(writer_.try_push({}), RingOutcome::kDone);
                                return writer_.take_bell_request();
                              },
                              [this] {
                                EXPECT_EQ(reader_.try_pop(note_), RingOutcome::kDone);
                                header().reader_sleeps = 0;
                              });
  EXPECT_EQ(lost, 0);
}

TEST_F(RingTest, either_the_waiting_writer_sees_the_room_or_the_reader_sees_it_wait) {
  while (writer_.try_push({}) == RingOutcome::kDone) {
  }
  const int lost = count_lost([this] { return writer_.may_sleep(); },
                              [this] {
                                EXPECT_EQ(reader_.try_pop(note_), RingOutcome::kDone);
                                return reader_.take_bell_request();
                              },
                              [this] {
                                EXPECT_EQ(writer_.try_push({}), RingOutcome::kDone);
                                header().writer_waits = 0;
                              });
  EXPECT_EQ(lost, 0);
}

TEST(Ring, memory_that_is_no_ring_is_refused) {
  alignas(kLinesApartBytes) std::array<std::byte, ring_bytes<Note>(kCapacity) + 128> memory{};
  const std::span<std::byte> all(memory);
  const std::size_t right = ring_bytes<Note>(kCapacity);
  EXPECT_TRUE(RingWriter<Note>::attach(all.first(right)));
  for (const std::span<std::byte> bad : {all.first(right - 1), all.first(right + 1),
                                         all.first(right - sizeof(Note)),  // 7 messages
                                         all.first(sizeof(RingHeader)), all.first(3),
                                         all.subspan(8, right), std::span<std::byte>()}) {
    auto writer = RingWriter<Note>::attach(bad);
    auto reader = RingReader<Note>::attach(bad);
    ASSERT_FALSE(writer || reader) << bad.size();
    EXPECT_EQ(writer.error().kind(), ErrorClass::kInvalidArgument);
  }
}

TEST(Ring, one_message_is_capacity_enough) {
  alignas(kLinesApartBytes) std::array<std::byte, ring_bytes<std::uint8_t>(1)> memory{};
  auto writer = *RingWriter<std::uint8_t>::attach(memory);
  auto reader = *RingReader<std::uint8_t>::attach(memory);
  std::uint8_t got = 0;
  for (std::uint8_t i = 0; i < 200; ++i) {
    ASSERT_EQ(writer.try_push(i), RingOutcome::kDone);
    ASSERT_EQ(writer.try_push(i), RingOutcome::kFull);
    ASSERT_EQ(reader.try_pop(got), RingOutcome::kDone);
    ASSERT_EQ(got, i);
  }
}

}  // namespace
}  // namespace forebay::shm
