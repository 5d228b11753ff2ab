// SPDX-License-Identifier: Apache-2.0
// A node whose agent ends, and clients that die, stop, talk nonsense or have no descriptors left:
// what becomes of them, and that nobody else is harmed.
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <unistd.h>

#include "base/descriptor.hpp"
#include "read/node_testing.hpp"
#include "shm/channel.hpp"

extern char** environ;  // NOLINT(readability-redundant-declaration): not in all headers

namespace forebay::read {
namespace {

TEST_F(NodeSessions, clients_whose_agent_ends_read_for_themselves) {
  Seat seat(node.name());
  const Session session = open(seat);
  EXPECT_TRUE(reads_words(session, {0, 3 * kUnit}));
  auto held = result_of(session.view({40 * kUnit, kUnit}));
  ASSERT_TRUE(held);
  node.stop();
  EXPECT_TRUE(reads_words(session, {0, kFileBytes}));
  EXPECT_TRUE(is_words(held->bytes(), 40 * kUnit));
  const auto again = result_of(session.view({50 * kUnit, 3 * kUnit}));
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->is_copy());
  session.close();
  EXPECT_EQ(error_class(result_of(session.view({0, 8}))), ErrorClass::kClosed);
  EXPECT_EQ(error_class(seat.open(path, {0, kUnit}, SmallPlan{}, 1)), ErrorClass::kClosed);
}

/// Takes all descriptors of this process but so many.
class NoDescriptors {
 public:
  explicit NoDescriptors(std::size_t left) {
    while (Descriptor taken{::dup(STDIN_FILENO)})
      taken_.push_back(std::move(taken));
    for (; left > 0 && !taken_.empty(); --left)
      taken_.pop_back();
  }

 private:
  std::vector<Descriptor> taken_;
};

// A message that was lost for want of descriptors counted as the end of its client, whose pins were
// cleared while it held a view: others' bytes came into it.
TEST_F(NodeSessions, a_view_keeps_its_bytes_although_descriptors_run_out) {
  Seat first(node.name());
  Seat second(node.name());
  const Session one = open(first);
  const Session other = open(second);
  const auto view = result_of(one.view({0, kUnit}));
  ASSERT_TRUE(view);
  EXPECT_FALSE(view->is_copy());
  {
    const NoDescriptors none(1);  // for the client's file
    EXPECT_FALSE(first.open(path, {0, kFileBytes}, SmallPlan{}, 7));
  }
  EXPECT_TRUE(reads_words(other, {0, kFileBytes}));
  EXPECT_TRUE(is_words(view->bytes(), 0));
  EXPECT_TRUE(reads_words(one, {0, kFileBytes}));
  const auto again = first.open(path, {0, kFileBytes}, SmallPlan{}, 8);
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_TRUE(reads_words(*again, {0, kFileBytes}));
}

// What processes do.

constexpr const char* kChildNode = "FOREBAY_TEST_NODE";
constexpr const char* kChildFile = "FOREBAY_TEST_FILE";

/// This program again, as a client that holds views.
class Holder : public Again {
 public:
  Holder(const std::string& node, const std::string& path)
      : Again("NodeSessionsChild.DISABLED_holds_views",
              {std::string(kChildNode) + "=" + node, std::string(kChildFile) + "=" + path}) {}

  /// True once it says that it holds its views; false if it ends instead.
  bool holds() const { return says("holding").has_value(); }
};

TEST(NodeSessionsChild, DISABLED_holds_views) {
  const char* const node = std::getenv(kChildNode);
  const char* const path = std::getenv(kChildFile);
  ASSERT_NE(node, nullptr);
  ASSERT_NE(path, nullptr);
  Seat seat(node);
  const auto session = seat.open(path, {0, kFileBytes}, SmallPlan{.slots = 4, .slots_max = 4});
  ASSERT_TRUE(session) << session.error().message();
  std::vector<View> views;
  for (std::uint64_t i = 0; i < 4; ++i) {
    auto view = result_of(session->view({i * kUnit, kUnit}));
    ASSERT_TRUE(view);
    views.push_back(std::move(*view));
  }
  std::printf("holding\n");
  std::fflush(stdout);
  ::sleep(120);
}

TEST_F(NodeSessions, what_a_killed_client_held_comes_back) {
  Holder holder(node.name(), path);
  ASSERT_TRUE(holder.holds());
  Seat seat(node.name());
  const Session session = open(seat, SmallPlan{.slots = 4, .slots_max = 4});
  const auto starved = result_of(session.view({20 * kUnit, kUnit}));
  ASSERT_TRUE(starved);
  EXPECT_TRUE(starved->is_copy()) << "the other one holds all memory";
  holder.kill();
  EXPECT_TRUE(eventually([&] {
    const auto view = result_of(session.view({21 * kUnit, kUnit}));
    return view && !view->is_copy();
  }));
  EXPECT_TRUE(reads_words(session, {0, kFileBytes}));
}

TEST_F(NodeSessions, a_stopped_client_stops_no_other) {
  Holder holder(node.name(), path);
  ASSERT_TRUE(holder.holds());
  holder.signal(SIGSTOP);
  Seat seat(node.name());
  const Session session = open(seat, SmallPlan{.slots = 4, .slots_max = 4});
  EXPECT_TRUE(reads_words(session, {0, kFileBytes}));
  holder.signal(SIGCONT);
}

// A damaged ring is no death: what its client holds must not be used for others.
TEST_F(NodeSessions, what_a_client_with_a_damaged_ring_holds_stays_its_own) {
  Seat seat(node.name());
  const Session session = open(seat, SmallPlan{.slots = 4, .slots_max = 4});
  auto nonsense = std::make_unique<Seat>(node.name());
  const Session damaged = open(*nonsense, SmallPlan{.slots = 4, .slots_max = 4});
  const auto held = result_of(damaged.view({3 * kUnit, kUnit}));
  ASSERT_TRUE(held);
  ASSERT_FALSE(held->is_copy());
  nonsense->damage_line();
  EXPECT_TRUE(reads_words(damaged, {0, kFileBytes})) << "for itself, from now on";
  EXPECT_TRUE(reads_words(session, {0, kFileBytes}));
  EXPECT_TRUE(is_words(held->bytes(), 3 * kUnit));
}

TEST_F(NodeSessions, client_that_sends_malformed_words_reads_for_itself) {
  Seat seat(node.name());
  const Session session = open(seat, SmallPlan{.slots = 4, .slots_max = 4});
  const auto unit = static_cast<std::uint32_t>(kUnit);
  const ClientWord good{.splinter = 7, .part = {0, unit}, .kind = ClientWord::Kind::kAwait};
  const std::array<ValidBytes, 4> parts{{{5, 5}, {9, 5}, {0, unit + 1}, {unit, unit}}};
  for (const ValidBytes& part : parts) {
    ClientWord word = good;
    word.part = part;
    seat.say(word);
    word.kind = ClientWord::Kind::kWant;
    seat.say(word);
  }
  ClientWord outside = good;
  outside.splinter = 1000000;
  seat.say(outside);
  ClientWord urgent = good;
  urgent.urgency = static_cast<Urgency>(200);
  seat.say(urgent);
  EXPECT_TRUE(reads_words(session, {0, kFileBytes}));
}

TEST_F(NodeSessions, malformed_message_of_a_client_closes_its_channel_and_names_the_field) {
  Seat seat(node.name());
  const Session session = open(seat);
  auto cut = to_bytes(OpenRequest{.handle = {1, 2}, .extent = {0, 8}, .plan = {}, .path = path});
  cut.resize(cut.size() - 3);
  for (const auto& bytes : {word_bytes({64, 100}), to_bytes(Welcome{}), cut}) {
    auto channel = shm::Channel::connect(node.name(), detail::deadline_after(kPatience));
    ASSERT_TRUE(channel);
    ASSERT_TRUE(channel->receive(detail::deadline_after(kPatience)));
    ASSERT_TRUE(channel->send(bytes));
    auto answer = channel->receive(detail::deadline_after(kPatience));
    ASSERT_TRUE(answer && *answer);
    const auto decoded = message_from((*answer)->bytes);
    ASSERT_TRUE(decoded);
    const auto* const refused = std::get_if<Refused>(&*decoded);
    ASSERT_NE(refused, nullptr);
    EXPECT_THAT(refused->why.message(),
                testing::ContainsRegex("message '.+': field '.+' is [0-9]+: .*process [0-9]+"));
    EXPECT_TRUE(eventually([&] { return !channel->receive(kDoNotBlock); }));
  }
  EXPECT_TRUE(reads_words(session, {0, kFileBytes}));
}

/// A client that knows how to connect, and nothing else.
TEST_F(NodeSessions, a_client_that_talks_nonsense_harms_nobody) {
  Seat seat(node.name());
  const Session session = open(seat);
  auto channel = shm::Channel::connect(node.name(), detail::deadline_after(kPatience));
  ASSERT_TRUE(channel);
  auto welcome = channel->receive(detail::deadline_after(kPatience));
  ASSERT_TRUE(welcome && *welcome);
  auto memory = shm::SharedMemory::attach(std::move((*welcome)->descriptors[0]), NodeLine::bytes(),
                                          shm::Protection::kReadWrite);
  ASSERT_TRUE(memory);
  auto bell = shm::Doorbell::from(std::move((*welcome)->descriptors[2]));
  ASSERT_TRUE(bell);
  const auto nonsense = word_bytes({64, 100});
  ASSERT_TRUE(channel->send(to_bytes(Leave{{1, 99}})));
  auto words = shm::Duplex<ClientWord, AgentWord>::attach(
      NodeLine::to_agent(*memory), NodeLine::to_client(*memory), std::move(*bell));
  ASSERT_TRUE(words);
  ASSERT_EQ(words->try_push({.session = 0, .splinter = 7}), shm::RingOutcome::kDone);
  EXPECT_TRUE(reads_words(session, {0, kFileBytes}));

  Random random;
  for (std::byte& byte : NodeLine::to_agent(*memory))
    byte = static_cast<std::byte>(random.below(256));
  ASSERT_TRUE(channel->send(nonsense)) << "so that the agent looks at it";
  // It hangs up on the one, and goes on with the other.
  EXPECT_TRUE(eventually([&] { return !channel->receive(kDoNotBlock); }));
  EXPECT_TRUE(reads_words(session, {0, kFileBytes}));
}

}  // namespace
}  // namespace forebay::read
