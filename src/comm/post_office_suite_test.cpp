// SPDX-License-Identifier: Apache-2.0
// Post offices on every make of ranks: whatever is sent between any two arrives, whole and in
// order.
#include <array>
#include <deque>
#include <random>

#include "comm/post_office_testing.hpp"

namespace forebay::comm {

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(PostOfficeSuite);

namespace {

constexpr std::uint32_t kMessages = 12;  ///< from each rank to each
constexpr std::size_t kPayloadMax = std::size_t{3} << 20U;

std::uint64_t common_seed(Communicator& ranks) {
  std::uint64_t seed = std::random_device()();
  EXPECT_TRUE(ranks.broadcast(std::as_writable_bytes(std::span(&seed, 1)), Rank{0}));
  return seed;
}

/// Where the bytes of a message begin in the pattern: all differ.
std::uint64_t origin(Rank from, Rank to, std::uint64_t number) {
  return ((std::uint64_t{from.number} * 1000 + to.number) * 1000 + number) * 977;
}

/// What one rank sends, in an order of its own, and checks that it gets.
class Traffic {
 public:
  Traffic(PostOffice& office, std::uint64_t seed) : office_(office), random_(seed) {
    for (std::uint32_t to = 0; to < office_.size(); ++to) {
      for (std::uint32_t i = 0; i < kMessages; ++i)
        plan_.push_back(Rank{to});
    }
    std::ranges::shuffle(plan_, random_);
  }

  void run() {
    for (const Rank to : plan_) {
      send_to(to);
      if (random_() % 4 == 0) office_.attend(box_);
    }
    const std::size_t expected = std::size_t{kMessages} * office_.size();
    ASSERT_TRUE(drive(office_, box_, [&] {
      return box_.messages.size() == expected && office_.queued_bytes() == 0;
    }));
    EXPECT_EQ(told_, lent_.size());
    EXPECT_TRUE(box_.losses.empty());
    for (const PostBox::Message& message : box_.messages)
      check(message);
  }

 private:
  std::size_t any_size() {
    constexpr std::array<std::size_t, 6> kBelow = {1, 2, 100, 5000, 200'000, kPayloadMax + 1};
    return random_() % kBelow.at(random_() % kBelow.size());
  }

  void send_to(Rank to) {
    const std::uint64_t number = sent_[to]++;
    Bytes payload = pattern(origin(office_.rank(), to, number), any_size());
    const LinkHeader header{.kind = 7, .words = {number, payload.size()}};
    if (random_() % 2 == 0) {
      EXPECT_TRUE(office_.send(to, header, std::move(payload)));
      return;
    }
    lent_.push_back(std::move(payload));
    EXPECT_TRUE(office_.send(to, header, lent_.back(), [this](const Status& outcome) {
      EXPECT_TRUE(outcome);
      ++told_;
    }));
  }

  void check(const PostBox::Message& message) {
    EXPECT_EQ(message.header.words[0], arrived_[message.from]++);
    ASSERT_EQ(message.payload.size(), message.header.words[1]);
    const std::uint64_t from = origin(message.from, office_.rank(), message.header.words[0]);
    EXPECT_EQ(message.payload, pattern(from, message.payload.size()));
  }

  PostOffice& office_;
  std::mt19937_64 random_;
  std::vector<Rank> plan_;
  std::deque<Bytes> lent_;  ///< must stay where they are
  std::size_t told_ = 0;
  PostBox box_;
  std::map<Rank, std::uint64_t> sent_;
  std::map<Rank, std::uint64_t> arrived_;
};

TEST_P(PostOfficeSuite, all_to_all_in_any_order_arrives_whole_and_in_order) {
  on_all_ranks([](const Ranks& ranks) {
    const std::uint64_t seed = common_seed(*ranks);
    SCOPED_TRACE("seed " + std::to_string(seed));
    LinkOptions options;
    options.socket.buffer_bytes = 65536;  // so that nothing long goes in one piece
    const auto office = open_office(*ranks, options);
    EXPECT_EQ(office->rank(), ranks->rank());
    EXPECT_EQ(office->size(), ranks->size());
    Traffic(*office, seed + ranks->rank().number).run();
    EXPECT_TRUE(ranks->barrier());
  });
}

TEST_P(PostOfficeSuite, ranks_that_call_each_other_at_the_same_moment_hear_each_other_once) {
  on_all_ranks([](const Ranks& ranks) {
    for (std::uint64_t round = 0; round < 5; ++round) {
      const auto office = open_office(*ranks);
      PostBox box;
      ASSERT_TRUE(ranks->barrier());
      for (std::uint32_t to = 0; to < ranks->size(); ++to) {
        for (std::uint64_t i = 0; i < 3; ++i)
          EXPECT_TRUE(office->send(Rank{to}, {.words = {round, i}}));
      }
      EXPECT_TRUE(drive(*office, box,
                        [&] { return box.messages.size() == 3 * std::size_t{ranks->size()}; }));
      std::map<Rank, std::uint64_t> arrived;
      for (const PostBox::Message& message : box.messages) {
        EXPECT_EQ(message.header.words[0], round);
        EXPECT_EQ(message.header.words[1], arrived[message.from]++);
      }
      EXPECT_TRUE(ranks->barrier());
    }
  });
}

/// Each message comes back before the next one goes: most of the time everybody sleeps.
TEST_P(PostOfficeSuite, ring_of_ranks_passes_one_message_around) {
  on_all_ranks([](const Ranks& ranks) {
    constexpr std::uint64_t kRounds = 50;
    const auto office = open_office(*ranks);
    const Rank next{(ranks->rank().number + 1) % ranks->size()};
    PostBox box;
    box.on_message = [&](const PostBox::Message& message) -> Status {
      const std::uint64_t passed = message.header.words[0] + 1;
      if (passed >= kRounds * ranks->size()) return {};
      return office->send(next, {.words = {passed}}, pattern(passed, 1000));
    };
    if (ranks->rank() == Rank{0}) {
      EXPECT_TRUE(office->send(next, {}, pattern(0, 1000)));
    }
    EXPECT_TRUE(drive(*office, box, [&] { return box.messages.size() == kRounds; }));
    EXPECT_TRUE(drive(*office, box, [&] { return office->queued_bytes() == 0; }));
    for (const PostBox::Message& message : box.messages)
      EXPECT_EQ(message.payload, pattern(message.header.words[0], 1000));
    EXPECT_TRUE(ranks->barrier());
  });
}

}  // namespace
}  // namespace forebay::comm
