// SPDX-License-Identifier: Apache-2.0
#include "shm/ring_pair.hpp"

#include <thread>

#include <gtest/gtest.h>

#include "shm/ring_pair_testing.hpp"

namespace forebay::shm {
namespace {

class RingPairTest : public ::testing::Test {
 protected:
  bool take_ring(const Doorbell& bell) {
    const bool was_rung = bell.wait(kDoNotBlock);
    bell.clear();
    return was_rung;
  }

  RingPairFixture rings_;
  AgentEnd agent_ = rings_.agent_end();
  ClientEnd client_ = rings_.client_end();
  Request request_;
  Event event_;
};

TEST_F(RingPairTest, rings_only_for_a_sleeper) {
  ASSERT_EQ(client_.try_push({.number = 1}), RingOutcome::kDone);
  EXPECT_FALSE(take_ring(rings_.agent_doorbell));
  ASSERT_EQ(agent_.try_pop(request_), RingOutcome::kDone);
  ASSERT_TRUE(agent_.prepare_sleep(WakeCondition::kMessage));
  ASSERT_EQ(client_.try_push({.number = 2}), RingOutcome::kDone);
  EXPECT_TRUE(take_ring(rings_.agent_doorbell));
  ASSERT_EQ(client_.try_push({.number = 3}), RingOutcome::kDone);
  EXPECT_FALSE(take_ring(rings_.agent_doorbell));
  EXPECT_FALSE(take_ring(rings_.client_doorbell));
}

TEST_F(RingPairTest, message_before_sleeping_prevents_it) {
  ASSERT_EQ(client_.try_push({}), RingOutcome::kDone);
  EXPECT_FALSE(agent_.prepare_sleep(WakeCondition::kMessage));
  EXPECT_FALSE(agent_.prepare_sleep(WakeCondition::kEither));
  EXPECT_FALSE(agent_.prepare_sleep(WakeCondition::kSpace)) << "there is room for events";
}

TEST_F(RingPairTest, sleeper_is_woken_by_room) {
  while (agent_.try_push({}) == RingOutcome::kDone) {
  }
  ASSERT_TRUE(agent_.prepare_sleep(WakeCondition::kEither));
  ASSERT_EQ(client_.try_pop(event_), RingOutcome::kDone);
  EXPECT_TRUE(take_ring(rings_.agent_doorbell));
}

TEST_F(RingPairTest, blocking_calls_end_at_their_deadline) {
  const WaitOptions options{.own = rings_.client_doorbell, .deadline = short_deadline()};
  EXPECT_EQ(client_.pop(event_, options), RingOutcome::kEmpty);
  while (client_.try_push({}) == RingOutcome::kDone) {
  }
  EXPECT_EQ(client_.push({}, options), RingOutcome::kFull);
}

TEST_F(RingPairTest, spurious_rings_do_not_end_a_wait) {
  rings_.client_doorbell.ring();
  EXPECT_EQ(client_.pop(event_, {.own = rings_.client_doorbell, .deadline = short_deadline()}),
            RingOutcome::kEmpty);
}

TEST_F(RingPairTest, interrupt_ends_a_wait_once_no_message_is_left) {
  auto interrupt_fd = Doorbell::create();
  ASSERT_TRUE(interrupt_fd);
  interrupt_fd->ring();
  const WaitOptions options{.own = rings_.client_doorbell,
                            .interrupt_fd = interrupt_fd->descriptor().get(),
                            .deadline = test_deadline()};
  EXPECT_EQ(client_.pop(event_, options), RingOutcome::kInterrupted);
  ASSERT_EQ(agent_.try_push({.number = 8}), RingOutcome::kDone);
  EXPECT_EQ(client_.pop(event_, options), RingOutcome::kDone);
  EXPECT_EQ(event_.number, 8U);
  EXPECT_EQ(client_.pop(event_, options), RingOutcome::kInterrupted);
}

TEST_F(RingPairTest, message_of_a_sender_killed_before_ringing_is_received) {
  auto silent = RingWriter<Event>::attach(rings_.events());
  auto death = Doorbell::create();
  ASSERT_TRUE(silent && death);
  std::thread sleeper([&] {
    const WaitOptions options{.own = rings_.client_doorbell,
                              .interrupt_fd = death->descriptor().get(),
                              .deadline = test_deadline()};
    EXPECT_EQ(client_.pop(event_, options), RingOutcome::kDone);
    EXPECT_EQ(event_.number, 9U);
  });
  const auto& header = *reinterpret_cast<RingHeader*>(rings_.events().data());
  while (header.is_reader_sleeping.load() == 0)
    std::this_thread::yield();
  EXPECT_EQ(silent->try_push({.number = 9}), RingOutcome::kDone);
  death->ring();
  sleeper.join();
}

TEST_F(RingPairTest, broken_ring_is_reported_instead_of_sleeping) {
  reinterpret_cast<RingHeader*>(rings_.events().data())->tail = 1'000'000;
  EXPECT_FALSE(client_.prepare_sleep(WakeCondition::kMessage));
  EXPECT_EQ(client_.pop(event_, {.own = rings_.client_doorbell}), RingOutcome::kBroken);
}

TEST_F(RingPairTest, memory_of_wrong_size_is_refused) {
  auto bad = ClientEnd::attach(rings_.requests().first(3), rings_.events(), Doorbell());
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().kind(), ErrorClass::kInvalidArgument);
  EXPECT_FALSE(ClientEnd::attach(rings_.requests(), rings_.events().first(3), Doorbell()));
}

TEST_F(RingPairTest, threads_exchange_without_a_loss) {
  constexpr std::uint64_t kCount = 100'000;
  bool client_has_all = false;
  std::thread client([&] { client_has_all = exchange(client_, rings_.client_doorbell, kCount); });
  EXPECT_TRUE(exchange(agent_, rings_.agent_doorbell, kCount));
  client.join();
  EXPECT_TRUE(client_has_all);
}

TEST_F(RingPairTest, threads_reply_by_blocking_calls) {
  constexpr std::uint64_t kCount = 5'000;
  std::thread client([&] {
    const WaitOptions options{.own = rings_.client_doorbell, .deadline = test_deadline()};
    for (std::uint64_t i = 0; i < kCount; ++i) {
      EXPECT_EQ(client_.push({.number = i}, options), RingOutcome::kDone);
      ASSERT_EQ(client_.pop(event_, options), RingOutcome::kDone);
      EXPECT_EQ(event_.number, i);
    }
  });
  const WaitOptions options{.own = rings_.agent_doorbell, .deadline = test_deadline()};
  std::uint64_t answered = 0;
  while (answered < kCount && agent_.pop(request_, options) == RingOutcome::kDone) {
    EXPECT_EQ(agent_.push({.number = request_.number}, options), RingOutcome::kDone);
    ++answered;
  }
  client.join();
  EXPECT_EQ(answered, kCount);
}

}  // namespace
}  // namespace forebay::shm
