// SPDX-License-Identifier: Apache-2.0
// MessageTransport on every implementation of Communicator: messages between any two ranks arrive
// whole and in order.
#include <array>
#include <deque>
#include <random>

#include "comm/message_transport_testing.hpp"

namespace forebay::comm {

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(MessageTransportSuite);

namespace {

constexpr std::uint32_t kMessagesPerPeer = 12;  ///< from each rank to each
constexpr std::size_t kPayloadMax = std::size_t{3} << 20U;

std::uint64_t common_seed(Communicator& ranks) {
  std::uint64_t seed = std::random_device()();
  EXPECT_TRUE(ranks.broadcast(std::as_writable_bytes(std::span(&seed, 1)), Rank{0}));
  return seed;
}

/// Start of a message's bytes in the pattern: all differ.
std::uint64_t origin(Rank from, Rank to, std::uint64_t number) {
  return ((std::uint64_t{from.number} * 1000 + to.number) * 1000 + number) * 977;
}

/// Sends messages of one rank in random order, and checks what it receives.
class Traffic {
 public:
  Traffic(MessageTransport& transport, std::uint64_t seed) : transport_(transport), random_(seed) {
    for (std::uint32_t to = 0; to < transport_.size(); ++to) {
      for (std::uint32_t i = 0; i < kMessagesPerPeer; ++i)
        plan_.push_back(Rank{to});
    }
    std::ranges::shuffle(plan_, random_);
  }

  void run() {
    for (const Rank to : plan_) {
      send_to(to);
      if (random_() % 4 == 0) transport_.poll(handler_);
    }
    const std::size_t expected = std::size_t{kMessagesPerPeer} * transport_.size();
    ASSERT_TRUE(run_until(transport_, handler_, [&] {
      return handler_.messages.size() == expected && transport_.queued_bytes() == 0;
    }));
    EXPECT_EQ(completed_, payloads_.size());
    EXPECT_TRUE(handler_.lost_peers.empty());
    for (const RecordingHandler::Message& message : handler_.messages)
      check(message);
  }

 private:
  std::size_t any_size() {
    constexpr std::array<std::size_t, 6> kBelow = {1, 2, 100, 5000, 200'000, kPayloadMax + 1};
    return random_() % kBelow.at(random_() % kBelow.size());
  }

  void send_to(Rank to) {
    const std::uint64_t number = sent_[to]++;
    Bytes payload = pattern(origin(transport_.rank(), to, number), any_size());
    const LinkHeader header{.kind = 7, .words = {number, payload.size()}};
    if (random_() % 2 == 0) {
      EXPECT_TRUE(transport_.send(to, header, std::move(payload)));
      return;
    }
    payloads_.push_back(std::move(payload));
    EXPECT_TRUE(transport_.send(to, header, payloads_.back(), [this](const Status& outcome) {
      EXPECT_TRUE(outcome);
      ++completed_;
    }));
  }

  void check(const RecordingHandler::Message& message) {
    EXPECT_EQ(message.header.words[0], arrived_[message.from]++);
    ASSERT_EQ(message.payload.size(), message.header.words[1]);
    const std::uint64_t from = origin(message.from, transport_.rank(), message.header.words[0]);
    EXPECT_EQ(message.payload, pattern(from, message.payload.size()));
  }

  MessageTransport& transport_;
  std::mt19937_64 random_;
  std::vector<Rank> plan_;
  std::deque<Bytes> payloads_;  ///< addresses must not change
  std::size_t completed_ = 0;
  RecordingHandler handler_;
  std::map<Rank, std::uint64_t> sent_;
  std::map<Rank, std::uint64_t> arrived_;
};

TEST_P(MessageTransportSuite, all_to_all_in_any_order_arrives_whole_and_in_order) {
  run_on_all_ranks([](const CommunicatorPtr& ranks) {
    const std::uint64_t seed = common_seed(*ranks);
    SCOPED_TRACE("seed " + std::to_string(seed));
    LinkOptions options;
    options.socket.buffer_bytes = 65536;  // so that long messages are sent in several pieces
    const auto transport = open_transport(*ranks, options);
    EXPECT_EQ(transport->rank(), ranks->rank());
    EXPECT_EQ(transport->size(), ranks->size());
    Traffic(*transport, seed + ranks->rank().number).run();
    EXPECT_TRUE(ranks->barrier());
  });
}

TEST_P(MessageTransportSuite, simultaneous_connects_deliver_each_message_once) {
  run_on_all_ranks([](const CommunicatorPtr& ranks) {
    for (std::uint64_t round = 0; round < 5; ++round) {
      const auto transport = open_transport(*ranks);
      RecordingHandler handler;
      ASSERT_TRUE(ranks->barrier());
      for (std::uint32_t to = 0; to < ranks->size(); ++to) {
        for (std::uint64_t i = 0; i < 3; ++i)
          EXPECT_TRUE(transport->send(Rank{to}, {.words = {round, i}}));
      }
      EXPECT_TRUE(run_until(*transport, handler, [&] {
        return handler.messages.size() == 3 * std::size_t{ranks->size()};
      }));
      std::map<Rank, std::uint64_t> arrived;
      for (const RecordingHandler::Message& message : handler.messages) {
        EXPECT_EQ(message.header.words[0], round);
        EXPECT_EQ(message.header.words[1], arrived[message.from]++);
      }
      EXPECT_TRUE(ranks->barrier());
    }
  });
}

/// Each message comes back before the next one is sent: most of the time all ranks sleep.
TEST_P(MessageTransportSuite, ring_of_ranks_passes_one_message_around) {
  run_on_all_ranks([](const CommunicatorPtr& ranks) {
    constexpr std::uint64_t kRounds = 50;
    const auto transport = open_transport(*ranks);
    const Rank next{(ranks->rank().number + 1) % ranks->size()};
    RecordingHandler handler;
    handler.on_message = [&](const RecordingHandler::Message& message) -> Status {
      const std::uint64_t passed = message.header.words[0] + 1;
      if (passed >= kRounds * ranks->size()) return {};
      return transport->send(next, {.words = {passed}}, pattern(passed, 1000));
    };
    if (ranks->rank() == Rank{0}) {
      EXPECT_TRUE(transport->send(next, {}, pattern(0, 1000)));
    }
    EXPECT_TRUE(run_until(*transport, handler, [&] { return handler.messages.size() == kRounds; }));
    EXPECT_TRUE(run_until(*transport, handler, [&] { return transport->queued_bytes() == 0; }));
    for (const RecordingHandler::Message& message : handler.messages)
      EXPECT_EQ(message.payload, pattern(message.header.words[0], 1000));
    EXPECT_TRUE(ranks->barrier());
  });
}

}  // namespace
}  // namespace forebay::comm
