// SPDX-License-Identifier: Apache-2.0
// The connection of a client to an agent that is late, or that loses messages. The test itself is
// the agent.
#include "read/node_client.hpp"

#include <chrono>
#include <future>
#include <memory>
#include <thread>

#include <gtest/gtest.h>

#include "read/client_connection.hpp"
#include "read/testing.hpp"

namespace forebay::read {
namespace {

const SessionHandle kLateSession{.runtime = 1, .number = 7};

class LateAgent : public ::testing::Test {
 protected:
  LateAgent() {
    auto listener = shm::ChannelListener::open().value();
    auto connected = std::async(std::launch::async, [&] {
      return NodeClient::connect(listener.name(), detail::deadline_after(kTestTimeout)).value();
    });
    std::optional<shm::Channel> channel;
    EXPECT_TRUE(wait_until([&] {
      if (auto accepted = listener.accept(); accepted && *accepted) channel = std::move(**accepted);
      return channel.has_value();
    }));
    agent = ClientConnection::make(std::move(*channel), 0).value();
    client = connected.get();
  }
  ~LateAgent() override { client->stop(); }

  /// No value if no message arrives within `limit`.
  std::optional<NodeMessage> next_message(std::chrono::milliseconds limit) const {
    auto message = agent->channel().receive(std::chrono::steady_clock::now() + limit);
    if (!message || !*message) return std::nullopt;
    return message_from((**message).bytes).value();
  }
  void reply(const NodeMessage& message) const {
    EXPECT_TRUE(agent->channel().send(to_bytes(message)));
  }

  std::unique_ptr<ClientConnection> agent;
  std::shared_ptr<NodeClient> client;
};

// The request was repeated; the reply to one of the two was later taken for that to another call.
TEST_F(LateAgent, lost_message_of_another_thread_repeats_no_call) {
  auto invalidated =
      std::async(std::launch::async, [&] { return client->invalidate(kLateSession, {0, kUnit}); });
  const auto request = next_message(kTestTimeout);
  ASSERT_TRUE(request);
  ASSERT_TRUE(std::holds_alternative<InvalidateRequest>(*request));
  reply(ErrorReply{kAllSessions, Error({.kind = ErrorClass::kLimit, .operation = "receive"})});
  EXPECT_FALSE(next_message(std::chrono::milliseconds(100)));
  reply(DoneReply{kLateSession});
  EXPECT_TRUE(invalidated.get());
}

// Each read of a program that is faster than the agent took memory, and delayed later requests.
TEST_F(LateAgent, reads_that_find_no_room_are_not_reported) {
  for (std::uint64_t i = 0; i < 3 * kNodeRingEntries; ++i) {
    client->send({.session = 7, .kind = LoadRequest::Kind::kObserve, .position = i});
    client->send({.session = 7, .position = i, .use = i + 1});
  }
  client->send({.session = 7, .splinter = 5, .kind = LoadRequest::Kind::kNotify});
  std::uint64_t before = 0;
  EXPECT_TRUE(wait_until([&] {
    LoadRequest request;
    while (agent->next_request(request) == shm::RingOutcome::kDone) {
      if (request.kind == LoadRequest::Kind::kNotify) return true;
      ++before;
    }
    return !agent->prepare_sleep() && false;
  }));
  EXPECT_EQ(before, kNodeRingEntries);
}

}  // namespace
}  // namespace forebay::read
