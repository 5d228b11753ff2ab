// SPDX-License-Identifier: Apache-2.0
#include "shm/duplex.hpp"

#include <thread>

#include <gtest/gtest.h>

#include "shm/duplex_testing.hpp"

namespace forebay::shm {
namespace {

class DuplexTest : public ::testing::Test {
 protected:
  bool rings(const Doorbell& bell) {
    const bool was_rung = bell.wait(kDoNotBlock);
    bell.clear();
    return was_rung;
  }

  Line line_;
  AgentEnd agent_ = line_.agent_end();
  ClientEnd client_ = line_.client_end();
  Request request_;
  Event event_;
};

TEST_F(DuplexTest, rings_only_for_who_sleeps) {
  ASSERT_EQ(client_.try_push({.number = 1}), RingOutcome::kDone);
  EXPECT_FALSE(rings(line_.agent_bell));
  ASSERT_EQ(agent_.try_pop(request_), RingOutcome::kDone);
  ASSERT_TRUE(agent_.may_sleep(Awaited::kMessage));
  ASSERT_EQ(client_.try_push({.number = 2}), RingOutcome::kDone);
  EXPECT_TRUE(rings(line_.agent_bell));
  ASSERT_EQ(client_.try_push({.number = 3}), RingOutcome::kDone);
  EXPECT_FALSE(rings(line_.agent_bell));
  EXPECT_FALSE(rings(line_.client_bell));
}

TEST_F(DuplexTest, message_before_sleeping_forbids_it) {
  ASSERT_EQ(client_.try_push({}), RingOutcome::kDone);
  EXPECT_FALSE(agent_.may_sleep(Awaited::kMessage));
  EXPECT_FALSE(agent_.may_sleep(Awaited::kEither));
  EXPECT_FALSE(agent_.may_sleep(Awaited::kRoom)) << "there is room for events";
}

TEST_F(DuplexTest, sleeper_for_room_is_woken_by_room) {
  while (agent_.try_push({}) == RingOutcome::kDone) {
  }
  ASSERT_TRUE(agent_.may_sleep(Awaited::kEither));
  ASSERT_EQ(client_.try_pop(event_), RingOutcome::kDone);
  EXPECT_TRUE(rings(line_.agent_bell));
}

TEST_F(DuplexTest, blocking_calls_end_at_their_deadline) {
  const Waiting waiting{.own = line_.client_bell, .deadline = in_a_moment()};
  EXPECT_EQ(client_.pop(event_, waiting), RingOutcome::kEmpty);
  while (client_.try_push({}) == RingOutcome::kDone) {
  }
  EXPECT_EQ(client_.push({}, waiting), RingOutcome::kFull);
}

TEST_F(DuplexTest, rings_for_nothing_are_slept_through) {
  line_.client_bell.ring();
  EXPECT_EQ(client_.pop(event_, {.own = line_.client_bell, .deadline = in_a_moment()}),
            RingOutcome::kEmpty);
}

TEST_F(DuplexTest, interruption_ends_a_wait_when_nothing_is_left) {
  auto interruption = Doorbell::create();
  ASSERT_TRUE(interruption);
  interruption->ring();
  const Waiting waiting{.own = line_.client_bell,
                        .interruption = interruption->descriptor().get(),
                        .deadline = in_a_minute()};
  EXPECT_EQ(client_.pop(event_, waiting), RingOutcome::kInterrupted);
  ASSERT_EQ(agent_.try_push({.number = 8}), RingOutcome::kDone);
  EXPECT_EQ(client_.pop(event_, waiting), RingOutcome::kDone);
  EXPECT_EQ(event_.number, 8U);
  EXPECT_EQ(client_.pop(event_, waiting), RingOutcome::kInterrupted);
}

TEST_F(DuplexTest, message_of_an_end_that_was_killed_before_ringing_is_not_lost) {
  auto silent = RingWriter<Event>::attach(line_.events());
  auto death = Doorbell::create();
  ASSERT_TRUE(silent && death);
  std::thread sleeper([&] {
    const Waiting waiting{.own = line_.client_bell,
                          .interruption = death->descriptor().get(),
                          .deadline = in_a_minute()};
    EXPECT_EQ(client_.pop(event_, waiting), RingOutcome::kDone);
    EXPECT_EQ(event_.number, 9U);
  });
  const auto& header = *reinterpret_cast<RingHeader*>(line_.events().data());
  while (header.reader_sleeps.load() == 0)
    std::this_thread::yield();
  EXPECT_EQ(silent->try_push({.number = 9}), RingOutcome::kDone);
  death->ring();
  sleeper.join();
}

TEST_F(DuplexTest, broken_ring_is_told_instead_of_slept_on) {
  reinterpret_cast<RingHeader*>(line_.events().data())->tail = 1'000'000;
  EXPECT_FALSE(client_.may_sleep(Awaited::kMessage));
  EXPECT_EQ(client_.pop(event_, {.own = line_.client_bell}), RingOutcome::kBroken);
}

TEST_F(DuplexTest, memory_that_is_no_ring_is_refused) {
  auto bad = ClientEnd::attach(line_.requests().first(3), line_.events(), Doorbell());
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().kind(), ErrorClass::kInvalidArgument);
  EXPECT_FALSE(ClientEnd::attach(line_.requests(), line_.events().first(3), Doorbell()));
}

TEST_F(DuplexTest, threads_exchange_without_a_loss) {
  constexpr std::uint64_t kCount = 100'000;
  bool client_has_all = false;
  std::thread client([&] { client_has_all = exchange(client_, line_.client_bell, kCount); });
  EXPECT_TRUE(exchange(agent_, line_.agent_bell, kCount));
  client.join();
  EXPECT_TRUE(client_has_all);
}

TEST_F(DuplexTest, threads_answer_each_other_by_blocking_calls) {
  constexpr std::uint64_t kCount = 5'000;
  std::thread client([&] {
    const Waiting waiting{.own = line_.client_bell, .deadline = in_a_minute()};
    for (std::uint64_t i = 0; i < kCount; ++i) {
      EXPECT_EQ(client_.push({.number = i}, waiting), RingOutcome::kDone);
      ASSERT_EQ(client_.pop(event_, waiting), RingOutcome::kDone);
      EXPECT_EQ(event_.number, i);
    }
  });
  const Waiting waiting{.own = line_.agent_bell, .deadline = in_a_minute()};
  std::uint64_t answered = 0;
  while (answered < kCount && agent_.pop(request_, waiting) == RingOutcome::kDone) {
    EXPECT_EQ(agent_.push({.number = request_.number}, waiting), RingOutcome::kDone);
    ++answered;
  }
  client.join();
  EXPECT_EQ(answered, kCount);
}

}  // namespace
}  // namespace forebay::shm
