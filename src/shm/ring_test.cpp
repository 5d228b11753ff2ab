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

struct TestMessage {
  std::uint64_t number = 0;
  std::array<std::uint32_t, 3> payload{};  // not a power of two, so that slots are not aligned to
                                           // cache lines
};

constexpr std::uint64_t kCapacity = 8;

/// A ring in this process; tests can damage the header.
class RingTest : public ::testing::Test {
 protected:
  RingHeader& header() { return *reinterpret_cast<RingHeader*>(memory_.data()); }

  alignas(kFalseSharingBytes) std::array<std::byte, ring_bytes<TestMessage>(kCapacity)> memory_{};
  RingWriter<TestMessage> writer_ = *RingWriter<TestMessage>::attach(memory_);
  RingReader<TestMessage> reader_ = *RingReader<TestMessage>::attach(memory_);
  TestMessage message_;
};

TEST_F(RingTest, messages_come_out_in_order_and_whole) {
  for (std::uint64_t i = 0; i < 5 * kCapacity; ++i) {
    ASSERT_EQ(writer_.try_push({.number = i, .payload = {1, 2, 3}}), RingOutcome::kDone);
    ASSERT_EQ(writer_.try_push({.number = i + 1000}), RingOutcome::kDone);
    ASSERT_EQ(reader_.try_pop(message_), RingOutcome::kDone);
    EXPECT_EQ(message_.number, i);
    EXPECT_EQ(message_.payload[2], 3U);
    ASSERT_EQ(reader_.try_pop(message_), RingOutcome::kDone);
    EXPECT_EQ(message_.number, i + 1000);
  }
  EXPECT_EQ(reader_.try_pop(message_), RingOutcome::kEmpty);
}

TEST_F(RingTest, full_ring_refuses_messages_and_loses_none) {
  for (std::uint64_t i = 0; i < kCapacity; ++i)
    ASSERT_EQ(writer_.try_push({.number = i}), RingOutcome::kDone);
  EXPECT_EQ(writer_.try_push({.number = 99}), RingOutcome::kFull);
  ASSERT_EQ(reader_.try_pop(message_), RingOutcome::kDone);
  EXPECT_EQ(message_.number, 0U);
  EXPECT_EQ(writer_.try_push({.number = kCapacity}), RingOutcome::kDone);
  for (std::uint64_t i = 1; i <= kCapacity; ++i) {
    ASSERT_EQ(reader_.try_pop(message_), RingOutcome::kDone);
    EXPECT_EQ(message_.number, i);
  }
}

TEST_F(RingTest, late_reader_finds_earlier_messages) {
  ASSERT_EQ(writer_.try_push({.number = 5}), RingOutcome::kDone);
  auto late = RingReader<TestMessage>::attach(memory_);
  ASSERT_TRUE(late);
  ASSERT_EQ(late->try_pop(message_), RingOutcome::kDone);
  EXPECT_EQ(message_.number, 5U);
}

TEST_F(RingTest, doorbell_is_requested_once_and_only_by_a_sleeper) {
  ASSERT_EQ(writer_.try_push({}), RingOutcome::kDone);
  EXPECT_FALSE(writer_.take_doorbell_request());
  EXPECT_FALSE(reader_.prepare_sleep()) << "the ring has a message";
  ASSERT_EQ(reader_.try_pop(message_), RingOutcome::kDone);
  EXPECT_FALSE(reader_.take_doorbell_request());
  EXPECT_TRUE(reader_.prepare_sleep());
  ASSERT_EQ(writer_.try_push({}), RingOutcome::kDone);
  EXPECT_TRUE(writer_.take_doorbell_request());
  EXPECT_FALSE(writer_.take_doorbell_request());
}

TEST_F(RingTest, writer_that_waits_for_room_requests_its_doorbell) {
  EXPECT_FALSE(writer_.prepare_sleep()) << "the ring has room";
  while (writer_.try_push({}) == RingOutcome::kDone) {
  }
  EXPECT_TRUE(writer_.prepare_sleep());
  ASSERT_EQ(reader_.try_pop(message_), RingOutcome::kDone);
  EXPECT_TRUE(reader_.take_doorbell_request());
  EXPECT_FALSE(reader_.take_doorbell_request());
  EXPECT_FALSE(writer_.prepare_sleep());
}

TEST_F(RingTest, impossible_index_of_the_writer_breaks_the_reader) {
  header().tail = kCapacity + 1;
  EXPECT_FALSE(reader_.prepare_sleep()) << "would never be woken";
  EXPECT_EQ(reader_.try_pop(message_), RingOutcome::kBroken);
  header().tail = 1;
  EXPECT_EQ(reader_.try_pop(message_), RingOutcome::kBroken);
}

TEST_F(RingTest, decreasing_index_of_the_writer_breaks_the_reader) {
  ASSERT_EQ(writer_.try_push({}), RingOutcome::kDone);
  ASSERT_EQ(reader_.try_pop(message_), RingOutcome::kDone);
  header().tail = 0;
  EXPECT_EQ(reader_.try_pop(message_), RingOutcome::kBroken);
}

TEST_F(RingTest, impossible_index_of_the_reader_breaks_the_writer) {
  while (writer_.try_push({}) == RingOutcome::kDone) {
  }
  header().head = kCapacity + 1;
  EXPECT_FALSE(writer_.prepare_sleep()) << "would never be woken";
  EXPECT_EQ(writer_.try_push({}), RingOutcome::kBroken);
  header().head = 0;
  EXPECT_EQ(writer_.try_push({}), RingOutcome::kBroken);
}

TEST_F(RingTest, own_index_is_not_read_from_shared_memory) {
  ASSERT_EQ(writer_.try_push({.number = 1}), RingOutcome::kDone);
  header().tail = 77;
  header().head = 78;
  ASSERT_EQ(writer_.try_push({.number = 2}), RingOutcome::kDone);  // publishes its own index again
  ASSERT_EQ(reader_.try_pop(message_), RingOutcome::kDone);
  EXPECT_EQ(message_.number, 1U);
  EXPECT_EQ(header().head.load(), 1U);
}

// For any damage of the header by the other side: no more messages than slots at a time, and an
// end. The address sanitizer checks the accesses.
TEST(Ring, random_damage_is_survived) {
  constexpr std::uint32_t kSeed = 20261;
  std::mt19937_64 random(kSeed);
  for (int round = 0; round < 2'000; ++round) {
    alignas(kFalseSharingBytes) std::array<std::byte, ring_bytes<TestMessage>(kCapacity)> memory{};
    auto* const header = reinterpret_cast<RingHeader*>(memory.data());
    auto writer = *RingWriter<TestMessage>::attach(memory);
    auto reader = *RingReader<TestMessage>::attach(memory);
    TestMessage message;
    for (int step = 0; step < 20; ++step) {
      std::atomic<std::uint64_t>& victim = random() % 2 == 0 ? header->head : header->tail;
      victim = random() >> (random() % 64);
      if (random() % 4 == 0) victim = std::numeric_limits<std::uint64_t>::max() - random() % 16;
      header->is_reader_sleeping = static_cast<std::uint32_t>(random());
      std::uint64_t pushed = 0;
      while (writer.try_push({}) == RingOutcome::kDone)
        ASSERT_LE(++pushed, 2 * kCapacity) << "seed " << kSeed << " round " << round;
      std::uint64_t popped = 0;
      while (reader.try_pop(message) == RingOutcome::kDone)
        ASSERT_LE(++popped, 2 * kCapacity) << "seed " << kSeed << " round " << round;
      static_cast<void>(writer.take_doorbell_request());
    }
  }
}

/// Makes two threads act at the same moment, as exactly as possible, many times. Returns the number
/// of rounds in which `try_sleep` was true and `rings` was not: a thread would sleep without limit.
/// `settle` restores the state after each round, in the sleeper's thread.
template <class Sleeper, class Waker, class Settle>
int count_lost(const Sleeper& try_sleep, const Waker& rings, const Settle& settle) {
  constexpr int kRounds = 200'000;
  std::atomic<int> arrived{0};
  const auto synchronize = [&arrived](int times) {
    arrived.fetch_add(1);
    for (int spins = 1; arrived.load() < 2 * times; ++spins)
      if (spins % 1'024 == 0) std::this_thread::yield();  // the other thread may have no core
  };
  bool has_rung = false;
  bool is_over = false;
  std::thread waker([&] {
    for (int round = 1;; ++round) {
      synchronize(2 * round - 1);
      if (is_over) return;
      has_rung = rings();
      synchronize(2 * round);
    }
  });
  int lost = 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  for (int round = 1;; ++round) {
    is_over = round == kRounds || std::chrono::steady_clock::now() > end;
    synchronize(2 * round - 1);
    if (is_over) break;
    const bool sleeps = try_sleep();
    synchronize(2 * round);
    if (sleeps && !has_rung) ++lost;
    settle();
  }
  waker.join();
  return lost;
}

TEST_F(RingTest, sleeper_sees_the_message_or_writer_sees_the_sleeper) {
  const int lost = count_lost([this] { return reader_.prepare_sleep(); },
                              [this] {
                                EXPECT_EQ(writer_.try_push({}), RingOutcome::kDone);
                                return writer_.take_doorbell_request();
                              },
                              [this] {
                                EXPECT_EQ(reader_.try_pop(message_), RingOutcome::kDone);
                                header().is_reader_sleeping = 0;
                              });
  EXPECT_EQ(lost, 0);
}

TEST_F(RingTest, waiting_writer_sees_the_room_or_reader_sees_it_wait) {
  while (writer_.try_push({}) == RingOutcome::kDone) {
  }
  const int lost = count_lost([this] { return writer_.prepare_sleep(); },
                              [this] {
                                EXPECT_EQ(reader_.try_pop(message_), RingOutcome::kDone);
                                return reader_.take_doorbell_request();
                              },
                              [this] {
                                EXPECT_EQ(writer_.try_push({}), RingOutcome::kDone);
                                header().is_writer_waiting = 0;
                              });
  EXPECT_EQ(lost, 0);
}

TEST(Ring, memory_of_wrong_size_is_refused) {
  alignas(kFalseSharingBytes) std::array<std::byte, ring_bytes<TestMessage>(kCapacity) + 128>
      memory{};
  const std::span<std::byte> all(memory);
  const std::size_t right = ring_bytes<TestMessage>(kCapacity);
  EXPECT_TRUE(RingWriter<TestMessage>::attach(all.first(right)));
  for (const std::span<std::byte> bad : {all.first(right - 1), all.first(right + 1),
                                         all.first(right - sizeof(TestMessage)),  // 7 messages
                                         all.first(sizeof(RingHeader)), all.first(3),
                                         all.subspan(8, right), std::span<std::byte>()}) {
    auto writer = RingWriter<TestMessage>::attach(bad);
    auto reader = RingReader<TestMessage>::attach(bad);
    ASSERT_FALSE(writer || reader) << bad.size();
    EXPECT_EQ(writer.error().kind(), ErrorClass::kInvalidArgument);
  }
}

TEST(Ring, capacity_of_one_message_works) {
  alignas(kFalseSharingBytes) std::array<std::byte, ring_bytes<std::uint8_t>(1)> memory{};
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
