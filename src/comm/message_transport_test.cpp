// SPDX-License-Identifier: Apache-2.0
// All ways in which a MessageTransport loses a peer; other ranks notice nothing. Ranks are threads.
#include "comm/message_transport.hpp"

#include <cerrno>

#include <sys/socket.h>

#include "comm/message_transport_testing.hpp"

namespace forebay::comm {
namespace {

std::uint32_t kind_of(const RecordingHandler::Message& message) { return message.header.kind; }

TEST(MessageTransport, is_idle_until_the_first_send) {
  run_on_ranks(2, [](const CommunicatorPtr& ranks) {
    const auto transport = open_transport(*ranks);
    EXPECT_FALSE(is_readable(transport->descriptor()));
    EXPECT_EQ(transport->next_deadline(), std::nullopt);
    EXPECT_TRUE(ranks->barrier());
  });
}

TEST(MessageTransport, messages_sent_before_leaving_arrive_and_others_continue) {
  run_on_ranks(3, [](const CommunicatorPtr& ranks) {
    auto transport = open_transport(*ranks);
    RecordingHandler handler;
    const Bytes payload = pattern(0, 300'000);
    for (std::uint32_t to = 0; to < 3; ++to)
      EXPECT_TRUE(transport->send(Rank{to}, {}, payload));
    EXPECT_TRUE(run_until(*transport, handler, [&] {
      return handler.messages.size() == 3 && transport->queued_bytes() == 0;
    }));
    EXPECT_TRUE(ranks->barrier());
    if (ranks->rank() == Rank{1}) {
      for (const std::uint32_t to : {0, 2})
        EXPECT_TRUE(transport->send(Rank{to}, {.kind = 5}, payload));
      EXPECT_TRUE(run_until(*transport, handler, [&] { return transport->queued_bytes() == 0; }));
      transport.reset();
      return;
    }
    EXPECT_TRUE(run_until_lost(*transport, handler, Rank{1}));
    const auto last = std::ranges::find(handler.messages, 5U, kind_of);
    ASSERT_NE(last, handler.messages.end());
    EXPECT_EQ(last->payload, payload);
    EXPECT_EQ(handler.loss_of(Rank{1})->kind(), ErrorClass::kClosed);
    EXPECT_EQ(error_class(transport->send(Rank{1}, {})), ErrorClass::kClosed);
    const Rank other{2 - ranks->rank().number};
    EXPECT_TRUE(transport->send(other, {.kind = 6}, payload));
    EXPECT_TRUE(run_until(*transport, handler, [&] {
      const bool has_come = std::ranges::count(handler.messages, 6U, kind_of) == 1;
      return has_come && transport->queued_bytes() == 0;
    }));
    EXPECT_EQ(handler.lost_peers.size(), 1U);
  });
}

TEST(MessageTransport, send_to_a_departed_rank_fails_at_once) {
  run_on_ranks(2, [](const CommunicatorPtr& ranks) {
    auto transport = open_transport(*ranks);
    if (ranks->rank() == Rank{1}) transport.reset();
    EXPECT_TRUE(ranks->barrier());
    if (!transport) return;
    RecordingHandler handler;
    Status send_status;
    EXPECT_TRUE(
        transport->send(Rank{1}, {}, {}, [&](const Status& outcome) { send_status = outcome; }));
    EXPECT_TRUE(run_until_lost(*transport, handler, Rank{1}));
    EXPECT_EQ(handler.loss_of(Rank{1})->error_number(), ECONNREFUSED);
    EXPECT_EQ(error_class(send_status), ErrorClass::kClosed);
    EXPECT_EQ(transport->queued_bytes(), 0U);
  });
}

TEST(MessageTransport, unresponsive_rank_is_lost_after_the_timeout) {
  run_on_ranks(2, [](const CommunicatorPtr& ranks) {
    const auto transport =
        open_transport(*ranks, {.connect_timeout_ms = std::chrono::milliseconds(300)});
    if (ranks->rank() == Rank{0}) {
      RecordingHandler handler;
      EXPECT_TRUE(transport->send(Rank{1}, {}, bytes_of("hello")));
      EXPECT_TRUE(run_until_lost(*transport, handler, Rank{1}));
      EXPECT_EQ(handler.loss_of(Rank{1})->error_number(), ETIMEDOUT);
    }
    EXPECT_TRUE(ranks->barrier());
  });
}

TEST(MessageTransport, handler_error_closes_both_sides) {
  run_on_ranks(2, [](const CommunicatorPtr& ranks) {
    const auto transport = open_transport(*ranks);
    RecordingHandler handler;
    handler.refuse_kind = 8;
    const Rank other{1 - ranks->rank().number};
    if (ranks->rank() == Rank{0}) {
      EXPECT_TRUE(transport->send(other, {.kind = 8}, pattern(0, 1000)));
    }
    EXPECT_TRUE(run_until_lost(*transport, handler, other));
    EXPECT_EQ(handler.loss_of(other)->operation() == "allocate a buffer", ranks->rank() == Rank{1});
    EXPECT_TRUE(handler.messages.empty());
  });
}

TEST(MessageTransport, unwanted_payload_is_dropped_from_others_and_from_itself) {
  run_on_ranks(2, [](const CommunicatorPtr& ranks) {
    const auto transport = open_transport(*ranks);
    RecordingHandler handler;
    handler.drop_kind = 9;
    for (const std::uint32_t to : {0, 1})
      EXPECT_TRUE(transport->send(Rank{to}, {.kind = 9}, pattern(0, 100'000)));
    EXPECT_TRUE(run_until(*transport, handler, [&] {
      return handler.messages.size() == 2 && transport->queued_bytes() == 0;
    }));
    for (const RecordingHandler::Message& message : handler.messages)
      EXPECT_TRUE(message.payload.empty());
    EXPECT_TRUE(ranks->barrier());
  });
}

TEST(MessageTransport, unauthenticated_connections_do_not_delay_ranks) {
  run_on_ranks(2, [](const CommunicatorPtr& ranks) {
    const auto transport = open_transport(*ranks);
    EXPECT_TRUE(ranks->barrier());
    std::vector<Descriptor> raw_clients;
    if (ranks->rank() == Rank{0}) {
      for (const SocketAddress& address : listen_addresses()) {
        for (const Bytes& payload : {Bytes(), bytes_of("GET / HTTP/1.1"), pattern(0, 4000)}) {
          raw_clients.push_back(value_or_throw(start_connect(address, {}), "connect"));
          std::ignore =
              ::send(raw_clients.back().get(), payload.data(), payload.size(), MSG_NOSIGNAL);
        }
      }
      EXPECT_FALSE(raw_clients.empty());
    }
    EXPECT_TRUE(ranks->barrier());
    RecordingHandler handler;
    for (const std::uint32_t to : {0, 1})
      EXPECT_TRUE(transport->send(Rank{to}, {.kind = 1}, bytes_of("hello")));
    EXPECT_TRUE(run_until(*transport, handler, [&] {
      return handler.messages.size() == 2 && transport->queued_bytes() == 0;
    }));
    EXPECT_TRUE(handler.lost_peers.empty());
    EXPECT_TRUE(ranks->barrier());
  });
}

TEST(MessageTransport, ranks_of_one_node_listen_on_loopback_alone) {
  run_on_ranks(3, [](const CommunicatorPtr& ranks) {
    const auto transport = open_transport(*ranks);
    EXPECT_TRUE(ranks->barrier());
    const std::vector<SocketAddress> here = listen_addresses();
    EXPECT_FALSE(here.empty());
    for (const SocketAddress& address : here)
      EXPECT_TRUE(is_loopback(address)) << text_of(address);
    EXPECT_TRUE(ranks->barrier());
  });
}

TEST(MessageTransport, close_is_reported_on_both_sides) {
  run_on_ranks(2, [](const CommunicatorPtr& ranks) {
    const auto transport = open_transport(*ranks);
    RecordingHandler handler;
    const Rank other{1 - ranks->rank().number};
    handler.on_message = [&](const RecordingHandler::Message&) -> Status {
      if (ranks->rank() == Rank{1}) transport->close(other, Error({.operation = "leave"}));
      return {};
    };
    for (int i = 0; i < 5; ++i)
      EXPECT_TRUE(ranks->rank() == Rank{1} || transport->send(other, {}));
    EXPECT_TRUE(run_until_lost(*transport, handler, other));
    if (ranks->rank() == Rank{1}) {
      EXPECT_EQ(handler.messages.size(), 1U) << "nothing is received after close()";
    }
  });
}

}  // namespace
}  // namespace forebay::comm
