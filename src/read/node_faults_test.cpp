// SPDX-License-Identifier: Apache-2.0
// A node whose agent ends, and clients that die, stop, send malformed messages or run out of
// descriptors: what happens to them, and that other clients are not affected.
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <memory>
#include <optional>
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

TEST_F(NodeSessions, clients_read_on_their_own_after_the_agent_ends) {
  TestClient client(node.name());
  const Session session = open(client);
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
  EXPECT_EQ(error_class(client.open(path, {0, kUnit}, SmallPlan{}, 1)), ErrorClass::kClosed);
}

/// Uses up all descriptors of this process except a given number.
class DescriptorExhaustion {
 public:
  explicit DescriptorExhaustion(std::size_t left) {
    while (Descriptor taken{::dup(STDIN_FILENO)})
      taken_.push_back(std::move(taken));
    for (; left > 0 && !taken_.empty(); --left)
      taken_.pop_back();
  }

 private:
  std::vector<Descriptor> taken_;
};

// A message lost because no descriptors were left counted as the end of its client. Its pins were
// cleared while it held a view, which was then overwritten.
TEST_F(NodeSessions, view_keeps_its_bytes_when_descriptors_run_out) {
  TestClient first(node.name());
  TestClient second(node.name());
  const Session one = open(first);
  const Session other = open(second);
  const auto view = result_of(one.view({0, kUnit}));
  ASSERT_TRUE(view);
  EXPECT_FALSE(view->is_copy());
  {
    const DescriptorExhaustion none(1);  // for the client's file
    EXPECT_FALSE(first.open(path, {0, kFileBytes}, SmallPlan{}, 7));
  }
  EXPECT_TRUE(reads_words(other, {0, kFileBytes}));
  EXPECT_TRUE(is_words(view->bytes(), 0));
  EXPECT_TRUE(reads_words(one, {0, kFileBytes}));
  const auto again = first.open(path, {0, kFileBytes}, SmallPlan{}, 8);
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_TRUE(reads_words(*again, {0, kFileBytes}));
}

// Events of other processes.

constexpr const char* kChildNode = "FOREBAY_TEST_NODE";
constexpr const char* kChildFile = "FOREBAY_TEST_FILE";

/// This program again, as a client that holds views.
class ViewHolderProcess : public ChildProcess {
 public:
  ViewHolderProcess(const std::string& node,
                    const std::string& path,
                    const std::string& disabled_case = "holds_views")
      : ChildProcess("NodeSessionsChild.DISABLED_" + disabled_case,
                     {std::string(kChildNode) + "=" + node, std::string(kChildFile) + "=" + path}) {
  }

  /// True once the process reports that it holds its views; false if it ends instead.
  bool wait_until_holding() const { return read_output_until("holding").has_value(); }
};

/// True once the agent has disconnected `client` because of a request that it sends here.
bool is_disconnected_after_malformed_request(TestClient& client, const std::string& path) {
  client.send({.splinter = 1000000});
  return wait_until([&] {
    return error_class(client.open(path, {0, kUnit}, SmallPlan{}, 9)) == ErrorClass::kClosed;
  });
}

void hold_views(bool (*prepare)(TestClient&, const std::string&)) {
  const char* const node = std::getenv(kChildNode);
  const char* const path = std::getenv(kChildFile);
  ASSERT_NE(node, nullptr);
  ASSERT_NE(path, nullptr);
  TestClient client(node);
  const auto session = client.open(path, {0, kFileBytes}, SmallPlan{.slots = 4, .slots_max = 4});
  ASSERT_TRUE(session) << session.error().message();
  std::vector<View> views;
  for (std::uint64_t i = 0; i < 4; ++i) {
    auto view = result_of(session->view({i * kUnit, kUnit}));
    ASSERT_TRUE(view);
    views.push_back(std::move(*view));
  }
  ASSERT_TRUE(prepare(client, path));
  std::printf("holding\n");
  std::fflush(stdout);
  ::sleep(120);
}

TEST(NodeSessionsChild, DISABLED_holds_views) {
  hold_views([](TestClient&, const std::string&) { return true; });
}

TEST(NodeSessionsChild, DISABLED_holds_views_of_a_disconnected_client) {
  hold_views(is_disconnected_after_malformed_request);
}

class HeldMemory : public NodeSessions {
 protected:
  /// The views of `holder_process` hold all memory until it is killed.
  void expect_released_at_end_of(ViewHolderProcess& holder_process) {
    ASSERT_TRUE(holder_process.wait_until_holding());
    TestClient client(node.name());
    const Session session = open(client, SmallPlan{.slots = 4, .slots_max = 4});
    const auto starved = result_of(session.view({20 * kUnit, kUnit}));
    ASSERT_TRUE(starved);
    EXPECT_TRUE(starved->is_copy()) << "the other client holds all memory";
    holder_process.kill();
    EXPECT_TRUE(wait_until([&] {
      const auto view = result_of(session.view({21 * kUnit, kUnit}));
      return view && !view->is_copy();
    }));
    EXPECT_TRUE(reads_words(session, {0, kFileBytes}));
  }
};

TEST_F(HeldMemory, of_a_killed_client_is_released) {
  ViewHolderProcess holder_process(node.name(), path);
  expect_released_at_end_of(holder_process);
}

// Also without pidfd (tests/faults).
TEST_F(HeldMemory, of_a_disconnected_client_is_released_at_its_end) {
  TestClient other(node.name());
  const Session kept = open(other, SmallPlan{.slots = 4, .slots_max = 4});
  ViewHolderProcess holder_process(node.name(), path, "holds_views_of_a_disconnected_client");
  expect_released_at_end_of(holder_process);
}

TEST_F(NodeSessions, stopped_client_blocks_no_other) {
  ViewHolderProcess holder_process(node.name(), path);
  ASSERT_TRUE(holder_process.wait_until_holding());
  holder_process.signal(SIGSTOP);
  TestClient client(node.name());
  const Session session = open(client, SmallPlan{.slots = 4, .slots_max = 4});
  EXPECT_TRUE(reads_words(session, {0, kFileBytes}));
  holder_process.signal(SIGCONT);
}

// A damaged ring does not mean that the client has died: its pinned slots must not be reused.
TEST_F(NodeSessions, client_with_a_damaged_ring_keeps_its_pins) {
  TestClient client(node.name());
  const Session session = open(client, SmallPlan{.slots = 4, .slots_max = 4});
  auto malformed = std::make_unique<TestClient>(node.name());
  const Session damaged = open(*malformed, SmallPlan{.slots = 4, .slots_max = 4});
  const auto held = result_of(damaged.view({3 * kUnit, kUnit}));
  ASSERT_TRUE(held);
  ASSERT_FALSE(held->is_copy());
  malformed->corrupt_rings();
  EXPECT_TRUE(reads_words(damaged, {0, kFileBytes})) << "read by the client from now on";
  EXPECT_TRUE(reads_words(session, {0, kFileBytes}));
  EXPECT_TRUE(is_words(held->bytes(), 3 * kUnit));
}

// Also without pidfd (tests/faults): its pins were cleared when the agent disconnected it.
TEST_F(NodeSessions, disconnected_client_keeps_its_pins) {
  const SmallPlan four_slots{.slots = 4, .slots_max = 4};
  TestClient client(node.name());
  const Session session = open(client, four_slots);
  TestClient malformed(node.name());
  const Session disconnected = open(malformed, four_slots);
  const auto held = result_of(disconnected.view({3 * kUnit, kUnit}));
  ASSERT_TRUE(held);
  ASSERT_FALSE(held->is_copy());
  ASSERT_TRUE(is_disconnected_after_malformed_request(malformed, path));
  EXPECT_TRUE(reads_words(session, {0, kFileBytes}));
  EXPECT_TRUE(is_words(held->bytes(), 3 * kUnit));
}

TEST_F(NodeSessions, client_that_sends_malformed_requests_reads_on_its_own) {
  TestClient client(node.name());
  const Session session = open(client, SmallPlan{.slots = 4, .slots_max = 4});
  const auto unit = static_cast<std::uint32_t>(kUnit);
  const LoadRequest good{.splinter = 7, .part = {0, unit}, .kind = LoadRequest::Kind::kNotify};
  const std::array<SplinterPart, 4> parts{{{5, 5}, {9, 5}, {0, unit + 1}, {unit, unit}}};
  for (const SplinterPart& part : parts) {
    LoadRequest ring_message = good;
    ring_message.part = part;
    client.send(ring_message);
    ring_message.kind = LoadRequest::Kind::kNoReply;
    client.send(ring_message);
  }
  LoadRequest outside = good;
  outside.splinter = 1000000;
  client.send(outside);
  LoadRequest urgent = good;
  urgent.priority = static_cast<LoadPriority>(200);
  client.send(urgent);
  EXPECT_TRUE(reads_words(session, {0, kFileBytes}));
}

TEST_F(NodeSessions, malformed_message_of_a_client_closes_its_channel_and_names_the_field) {
  TestClient client(node.name());
  const Session session = open(client);
  auto cut =
      to_bytes(OpenSessionRequest{.handle = {1, 2}, .extent = {0, 8}, .plan = {}, .path = path});
  cut.resize(cut.size() - 3);
  for (const auto& bytes : {word_bytes({64, 100}), to_bytes(ConnectReply{}), cut}) {
    auto channel = shm::Channel::connect(node.name(), detail::deadline_after(kTestTimeout));
    ASSERT_TRUE(channel);
    ASSERT_TRUE(channel->receive(detail::deadline_after(kTestTimeout)));
    ASSERT_TRUE(channel->send(bytes));
    auto answer = channel->receive(detail::deadline_after(kTestTimeout));
    ASSERT_TRUE(answer && *answer);
    const auto decoded = message_from((*answer)->bytes);
    ASSERT_TRUE(decoded);
    const auto* const refused = std::get_if<ErrorReply>(&*decoded);
    ASSERT_NE(refused, nullptr);
    EXPECT_THAT(refused->error.message(),
                testing::ContainsRegex("message '.+': field '.+' is [0-9]+: .*process [0-9]+"));
    EXPECT_TRUE(wait_until([&] { return !channel->receive(kDoNotBlock); }));
  }
  EXPECT_TRUE(reads_words(session, {0, kFileBytes}));
}

/// Accepts one client, and sends the first message of an agent.
shm::Channel accept_client(shm::ChannelListener& listener) {
  std::optional<shm::Channel> channel;
  EXPECT_TRUE(wait_until([&] {
    auto accepted = listener.accept();
    if (accepted && *accepted) channel = std::move(**accepted);
    return channel.has_value();
  }));
  const auto memory = shm::SharedMemory::create("rings", ConnectionLayout::bytes()).value();
  const auto shared = memory.share(shm::Protection::kReadWrite).value();
  const auto bell = shm::Doorbell::create().value();
  const std::array<int, 3> descriptors{shared.get(), bell.descriptor().get(),
                                       bell.descriptor().get()};
  EXPECT_TRUE(channel->send(to_bytes(ConnectReply{}), descriptors));
  return std::move(*channel);
}

// The agent clears the pins of a client whose channel ends, but this one may hold views.
TEST(NodeClientFaults, channel_stays_open_after_a_malformed_message_of_the_agent) {
  auto listener = shm::ChannelListener::open().value();
  auto accepted = std::async(std::launch::async, [&] { return accept_client(listener); });
  const auto deadline = detail::deadline_after(kTestTimeout);
  const auto client = NodeClient::connect(listener.name(), deadline).value();
  shm::Channel channel = accepted.get();
  ASSERT_TRUE(channel.send(word_bytes({64, 100})));
  const auto opened = client->open({.file = word_file(kUnit),
                                    .extent = {0, kUnit},
                                    .plan = SmallPlan{},
                                    .connection = nullptr,
                                    .fallback_agent = nullptr});
  EXPECT_EQ(error_class(opened), ErrorClass::kDamage);
  auto received = channel.receive(kDoNotBlock);
  while (received && *received)
    received = channel.receive(kDoNotBlock);
  EXPECT_TRUE(received) << received.error().message();
}

/// A client that can connect, and then sends malformed data.
TEST_F(NodeSessions, client_that_sends_garbage_affects_no_other) {
  TestClient client(node.name());
  const Session session = open(client);
  auto channel = shm::Channel::connect(node.name(), detail::deadline_after(kTestTimeout));
  ASSERT_TRUE(channel);
  auto connect_reply = channel->receive(detail::deadline_after(kTestTimeout));
  ASSERT_TRUE(connect_reply && *connect_reply);
  auto memory = shm::SharedMemory::attach(std::move((*connect_reply)->descriptors[0]),
                                          ConnectionLayout::bytes(), shm::Protection::kReadWrite);
  ASSERT_TRUE(memory);
  auto bell = shm::Doorbell::from(std::move((*connect_reply)->descriptors[2]));
  ASSERT_TRUE(bell);
  const auto malformed = word_bytes({64, 100});
  ASSERT_TRUE(channel->send(to_bytes(CloseSessionRequest{{1, 99}})));
  auto rings = shm::RingPair<LoadRequest, LoadNotification>::attach(
      ConnectionLayout::to_agent(*memory), ConnectionLayout::to_client(*memory), std::move(*bell));
  ASSERT_TRUE(rings);
  ASSERT_EQ(rings->try_push({.session = 0, .splinter = 7}), shm::RingOutcome::kDone);
  EXPECT_TRUE(reads_words(session, {0, kFileBytes}));

  Random random;
  for (std::byte& byte : ConnectionLayout::to_agent(*memory))
    byte = static_cast<std::byte>(random.uniform(256));
  ASSERT_TRUE(channel->send(malformed)) << "to make the agent poll";
  // The agent disconnects this client, and continues to serve the other.
  EXPECT_TRUE(wait_until([&] { return !channel->receive(kDoNotBlock); }));
  EXPECT_TRUE(reads_words(session, {0, kFileBytes}));
}

}  // namespace
}  // namespace forebay::read
