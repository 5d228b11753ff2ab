// SPDX-License-Identifier: Apache-2.0
// Turns among threads that play ranks: never more at once than may be, everybody gets one, and
// nobody who dies, leaves or does something else with a turn in its hand stops others.
#include "comm/turns.hpp"

#include <atomic>
#include <condition_variable>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "comm/message_testing.hpp"
#include "comm/post_office_testing.hpp"
#include "comm/testing.hpp"

namespace forebay::comm {
namespace {

constexpr auto kPatience = std::chrono::seconds(60);
constexpr std::chrono::milliseconds kForLong = std::chrono::minutes(10);

class Sleeper final : public detail::Waiter {
 public:
  void signal() noexcept override {
    const std::lock_guard lock(mutex_);
    is_there_ = true;
    changed_.notify_all();
  }
  bool wait() {
    std::unique_lock lock(mutex_);
    const bool came = changed_.wait_for(lock, kPatience, [this] { return is_there_; });
    is_there_ = false;
    return came;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_there_ = false;
};

/// Waits as a request does.
bool take_turn(Turns::Turn& turn) {
  Sleeper sleeper;
  while (!turn.has()) {
    if (!turn.arm(sleeper)) continue;
    const bool came = sleeper.wait();
    turn.disarm(sleeper);
    if (!came) return false;
  }
  return true;
}

void on_ranks(std::uint32_t count, const RankTest& test) {
  const Status ran = run_ranks({.count = count}, [&](const Ranks& ranks) {
    test(ranks);
    return Status();
  });
  EXPECT_TRUE(ran) << ran.error().message();
}

std::shared_ptr<Turns> open_turns(Communicator& ranks, const Turns::Setup& setup) {
  auto turns = Turns::open(ranks, {}, setup);
  EXPECT_TRUE(turns) << turns.error().message();
  return turns ? *turns : nullptr;
}

class TurnsAtOnce : public testing::TestWithParam<std::uint32_t> {};

TEST_P(TurnsAtOnce, are_never_more_than_may_be_and_reach_everybody) {
  const std::uint32_t at_once = GetParam();
  std::atomic<std::uint32_t> inside{0};
  std::atomic<std::uint32_t> most{0};
  std::atomic<std::uint32_t> taken{0};
  on_ranks(7, [&](const Ranks& ranks) {
    const auto turns = open_turns(*ranks, {.at_once = at_once, .lease = kForLong});
    for (int round = 0; round < 20; ++round) {
      Turns::Turn turn(turns);
      ASSERT_TRUE(take_turn(turn));
      const std::uint32_t now_inside = ++inside;
      std::uint32_t known = most.load();
      while (known < now_inside && !most.compare_exchange_weak(known, now_inside)) {
      }
      std::this_thread::sleep_for(std::chrono::microseconds(200));
      --inside;
      ++taken;
    }
    EXPECT_TRUE(ranks->barrier());
  });
  EXPECT_EQ(taken, 7U * 20);
  EXPECT_LE(most, at_once);
}

INSTANTIATE_TEST_SUITE_P(Counts, TurnsAtOnce, testing::Values(1, 2, 3, 7));

TEST(Turns, of_one_that_does_something_else_end_with_the_lease) {
  on_ranks(3, [](const Ranks& ranks) {
    const auto turns = open_turns(*ranks, {.at_once = 1, .lease = std::chrono::milliseconds(50)});
    Turns::Turn turn(turns);
    if (ranks->rank() == Rank{1}) {
      ASSERT_TRUE(take_turn(turn));
    }
    EXPECT_TRUE(ranks->barrier());  // it has it, and keeps it
    if (ranks->rank() != Rank{1}) {
      EXPECT_TRUE(take_turn(turn));
      turn.give_back();
    }
    EXPECT_TRUE(ranks->barrier());  // others had theirs, though it never let go
    turn.give_back();
    Turns::Turn again(turns);
    EXPECT_TRUE(take_turn(again)) << "it was told, and may ask again";
    again.give_back();
    EXPECT_TRUE(ranks->barrier());
  });
}

TEST(Turns, of_one_that_ends_with_it_go_on) {
  for (const std::uint32_t leaver : {0U, 1U}) {  // who keeps the list, and who does not
    on_ranks(3, [leaver](const Ranks& ranks) {
      auto turns = open_turns(*ranks, {.at_once = 1, .lease = kForLong});
      if (ranks->rank() == Rank{leaver}) {
        Turns::Turn turn(turns);
        ASSERT_TRUE(take_turn(turn));
      }
      EXPECT_TRUE(ranks->barrier());
      if (ranks->rank() == Rank{leaver}) {
        turns.reset();
      } else {
        Turns::Turn turn(turns);
        EXPECT_TRUE(take_turn(turn));
      }
      EXPECT_TRUE(ranks->barrier());
    });
  }
}

TEST(Turns, are_kept_for_others_by_one_that_wants_none_any_more) {
  std::atomic<std::uint32_t> inside{0};
  on_ranks(4, [&](const Ranks& ranks) {
    const auto turns = open_turns(*ranks, {.at_once = 1, .lease = kForLong});
    if (ranks->rank() == Rank{0}) turns->leave();
    EXPECT_TRUE(ranks->barrier());
    for (int round = 0; round < 10 && ranks->rank() != Rank{0}; ++round) {
      Turns::Turn turn(turns);
      ASSERT_TRUE(take_turn(turn));
      EXPECT_EQ(++inside, 1U);
      --inside;
    }
    EXPECT_TRUE(ranks->barrier());
    if (ranks->rank() != Rank{0}) turns->leave();
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (!turns->has_ended() && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_TRUE(turns->has_ended());
    EXPECT_TRUE(ranks->barrier());
  });
}

TEST(Turns, that_nobody_else_wants_stay_for_the_next_request) {
  on_ranks(2, [](const Ranks& ranks) {
    const auto turns = open_turns(*ranks, {.at_once = 1, .lease = kForLong});
    if (ranks->rank() == Rank{1}) {
      {
        Turns::Turn first(turns);
        ASSERT_TRUE(take_turn(first));
      }
      Turns::Turn second(turns);
      EXPECT_TRUE(second.has());
    }
    EXPECT_TRUE(ranks->barrier());
  });
}

/// Rank 1 is a post office that sends what no rank sends: it is lost, and rank 0 keeps its turn.
TEST(Turns, malformed_letters_close_the_link_and_nothing_else) {
  std::mt19937 random(kMutationSeed);
  for (int round = 0; round < 40; ++round) {
    LinkHeader forged{.kind = static_cast<std::uint32_t>(random() % 8)};
    forged.words.at(1 + random() % 3) = 1 + random();
    on_ranks(2, [&](const Ranks& ranks) {
      if (ranks->rank() == Rank{0}) {
        const auto turns = open_turns(*ranks, {.at_once = 1});
        Turns::Turn turn(turns);
        EXPECT_TRUE(take_turn(turn));
        EXPECT_TRUE(ranks->barrier());
        return;
      }
      const auto office = must(PostOffice::open(*ranks, {}), "open");
      EXPECT_TRUE(ranks->agree({}));
      PostBox box;
      EXPECT_TRUE(office->send(Rank{0}, forged, pattern(0, random() % 3)));
      EXPECT_TRUE(drive_until_lost(*office, box, Rank{0})) << "round " << round;
      EXPECT_TRUE(ranks->barrier());
    });
  }
}

}  // namespace
}  // namespace forebay::comm
