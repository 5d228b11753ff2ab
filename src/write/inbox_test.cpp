// SPDX-License-Identifier: Apache-2.0
// Who rings for an agent and who does not, and that nothing is left lying that came just before it
// went to sleep.
#include "write/inbox.hpp"

#include <cstdint>
#include <thread>

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

namespace forebay::write {
namespace {

constexpr int kLong = 10'000;

class InboxAlone : public ::testing::Test {
 protected:
  bool is_rung() const {
    pollfd entry{inbox_.descriptor().get(), POLLIN, 0};
    return ::poll(&entry, 1, 0) == 1;
  }
  bool add(Inbox::Haste haste = Inbox::Haste::kNow) {
    return inbox_.add([this] { ++done_; }, haste);
  }
  void work() {
    for (const auto& one : inbox_.take(is_rung() ? Inbox::Bell::kHeard : Inbox::Bell::kSilent))
      one();
  }

  Inbox inbox_{*shm::Doorbell::create()};
  int done_ = 0;
};

TEST_F(InboxAlone, an_agent_that_is_awake_is_not_rung_for_and_does_not_go_to_sleep) {
  EXPECT_TRUE(add());
  EXPECT_FALSE(is_rung());
  EXPECT_EQ(inbox_.rest(kLong), 0) << "there is something to do";
  work();
  EXPECT_EQ(done_, 1);
  EXPECT_EQ(inbox_.rest(kLong), kLong);
}

TEST_F(InboxAlone, an_agent_that_sleeps_is_rung_for_once) {
  ASSERT_EQ(inbox_.rest(-1), -1);
  add(Inbox::Haste::kSoon);
  add();
  std::uint64_t rings = 0;
  ASSERT_EQ(::read(inbox_.descriptor().get(), &rings, sizeof rings), sizeof rings);
  EXPECT_EQ(rings, 1U);
  work();
  EXPECT_EQ(done_, 2);
  EXPECT_FALSE(is_rung());
}

TEST_F(InboxAlone, a_ring_that_comes_after_its_work_was_taken_is_heard_once) {
  ASSERT_EQ(inbox_.rest(-1), -1);
  add();
  for (const auto& one : inbox_.take(Inbox::Bell::kSilent))  // it had not rung when poll() returned
    one();
  EXPECT_EQ(done_, 1);
  ASSERT_EQ(inbox_.rest(-1), -1);
  EXPECT_TRUE(is_rung());
  work();
  ASSERT_EQ(inbox_.rest(-1), -1);
  EXPECT_FALSE(is_rung()) << "or the agent would never sleep again";
}

TEST_F(InboxAlone, what_can_wait_for_it_does_not_wake_an_agent_that_dozes) {
  ASSERT_EQ(inbox_.rest(Inbox::kDozeMs), Inbox::kDozeMs);
  add(Inbox::Haste::kSoon);
  EXPECT_FALSE(is_rung());
  add();
  EXPECT_TRUE(is_rung());
  work();
  EXPECT_EQ(done_, 2);
}

TEST_F(InboxAlone, who_is_woken_does_not_sleep_before_it_has_looked) {
  inbox_.wake();
  EXPECT_TRUE(is_rung());
  EXPECT_EQ(inbox_.rest(kLong), 0);
  work();
  EXPECT_FALSE(is_rung());
  EXPECT_EQ(inbox_.rest(kLong), kLong);
}

TEST_F(InboxAlone, the_end_gives_out_what_is_there_and_nothing_is_kept_afterwards) {
  add();
  const auto last = inbox_.close();
  ASSERT_EQ(last.size(), 1U);
  EXPECT_FALSE(add());
  work();
  EXPECT_EQ(done_, 0);
}

TEST_F(InboxAlone, nothing_is_left_lying_whenever_it_comes) {
  constexpr int kItems = 20'000;
  int lost = 0;
  std::thread other([this] {
    for (int item = 0; item < kItems; ++item)
      add(item % 2 == 0 ? Inbox::Haste::kNow : Inbox::Haste::kSoon);
    add();  // what is done soon is done by the next that is done now
  });
  while (done_ <= kItems) {
    pollfd entry{inbox_.descriptor().get(), POLLIN, 0};
    const int wait_ms = inbox_.rest(done_ % 3 == 0 ? Inbox::kDozeMs : kLong);
    const int woken = ::poll(&entry, 1, wait_ms);
    if (wait_ms == kLong && woken != 1) ++lost;
    work();
  }
  other.join();
  EXPECT_EQ(done_, kItems + 1);
  EXPECT_EQ(lost, 0);
  work();
  EXPECT_FALSE(is_rung());
}

}  // namespace
}  // namespace forebay::write
