// SPDX-License-Identifier: Apache-2.0
// MessageTransport under faults: no descriptors, foreign programs that send handshakes, peers that
// do not read, messages that fill every buffer in both directions. No call blocks, and other ranks
// are not affected. Ranks are threads; all use loopback.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "comm/handshake.hpp"
#include "comm/in_process.hpp"
#include "comm/message_transport.hpp"
#include "comm/message_transport_testing.hpp"
#include "comm/socket.hpp"

namespace forebay::comm {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

const LinkOptions kSmallBuffers{.socket = {.buffer_bytes = 64 << 10}};
constexpr std::size_t kLargeBytes = std::size_t{8} << 20U;

/// Limits this process to `more` further descriptors during its lifetime.
class ScopedDescriptorLimit {
 public:
  explicit ScopedDescriptorLimit(rlim_t more) {
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    const int next = ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
    EXPECT_GE(next, 0);
    ::close(next);
    set(static_cast<rlim_t>(next) + more);
  }
  ~ScopedDescriptorLimit() { set(before_.rlim_cur); }
  ScopedDescriptorLimit(const ScopedDescriptorLimit&) = delete;
  ScopedDescriptorLimit& operator=(const ScopedDescriptorLimit&) = delete;

 private:
  void set(rlim_t count) const {
    const rlimit limit{count, before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  }
  rlimit before_ = {};
};

TEST(MessageTransportFaults, connect_without_descriptors_fails_at_once_with_advice) {
  run_on_ranks(3, [](const CommunicatorPtr& ranks) {
    const auto transport = open_transport(*ranks);
    RecordingHandler handler;
    EXPECT_TRUE(ranks->barrier());
    if (ranks->rank() == Rank{0}) {
      {
        const ScopedDescriptorLimit none(0);
        Status completed;
        std::ignore =
            transport->send(Rank{1}, {}, {}, [&](const Status& outcome) { completed = outcome; });
        EXPECT_TRUE(
            run_until(*transport, handler, [&] { return handler.loss_of(Rank{1}) != nullptr; }));
        EXPECT_EQ(error_class(completed), ErrorClass::kLimit);
        EXPECT_NE(completed.error().message().find("ulimit -n"), std::string::npos);
      }
      // Other ranks can be reached once descriptors are available again.
      EXPECT_TRUE(transport->send(Rank{2}, {.kind = 3}));
      EXPECT_TRUE(run_until(*transport, handler, [&] { return !handler.messages.empty(); }));
    }
    if (ranks->rank() == Rank{2}) {
      EXPECT_TRUE(run_until(*transport, handler, [&] { return !handler.messages.empty(); }));
      EXPECT_TRUE(transport->send(Rank{0}, {.kind = 4}));
      EXPECT_TRUE(run_until(*transport, handler, [&] { return transport->queued_bytes() == 0; }));
    }
    EXPECT_TRUE(ranks->barrier());
  });
}

TEST(MessageTransportFaults, accept_without_descriptors_is_retried_later) {
  run_on_ranks(2, [](const CommunicatorPtr& ranks) {
    const auto transport = open_transport(*ranks);
    RecordingHandler handler;
    EXPECT_TRUE(ranks->barrier());
    std::unique_ptr<ScopedDescriptorLimit> one;
    if (ranks->rank() == Rank{0}) {
      one = std::make_unique<ScopedDescriptorLimit>(1);  // for the client
      EXPECT_TRUE(transport->send(Rank{1}, {.kind = 3}, pattern(0, 10'000)));
    }
    EXPECT_TRUE(ranks->barrier());
    if (ranks->rank() == Rank{1}) {
      const auto end = steady_clock::now() + milliseconds(500);
      int rounds = 0;
      for (; steady_clock::now() < end; ++rounds) {
        wait_for_events(*transport);
        transport->poll(handler);
      }
      EXPECT_TRUE(handler.messages.empty());
      EXPECT_LT(rounds, 100) << "poll() spins";
    }
    EXPECT_TRUE(ranks->barrier());
    one.reset();
    EXPECT_TRUE(ranks->barrier());
    EXPECT_TRUE(run_until(*transport, handler, [&] {
      return transport->queued_bytes() == 0 &&
             (ranks->rank() == Rank{0} || !handler.messages.empty());
    }));
    EXPECT_TRUE(handler.lost_peers.empty());
    EXPECT_TRUE(ranks->barrier());
  });
}

/// First messages that no rank sends.
std::vector<HandshakeMessage> invalid_first_messages() {
  using Kind = HandshakeMessage::Kind;
  std::vector<HandshakeMessage> all;
  for (const Kind kind : {Kind::kHello, Kind::kChallenge, Kind::kProof})
    for (const std::uint32_t from : {0U, 1U, 7U, UINT32_MAX})
      for (const std::uint32_t to : {0U, 1U, 7U})
        if (kind != Kind::kHello || from > 1 || to > 1 || from == to)
          all.push_back({.kind = kind, .from = from, .to = to});
  all.push_back({.version = 1, .from = 1});
  all.push_back({.magic = 7, .from = 1});
  return all;
}

TEST(MessageTransportFaults, invalid_first_message_closes_the_connection_without_reply) {
  run_on_ranks(2, [](const CommunicatorPtr& ranks) {
    const auto transport = open_transport(*ranks);
    EXPECT_TRUE(ranks->barrier());
    std::vector<Descriptor> raw_clients;
    if (ranks->rank() == Rank{0}) {
      for (const SocketAddress& address : listen_addresses())
        for (const HandshakeMessage& message : invalid_first_messages()) {
          raw_clients.push_back(value_or_throw(start_connect(address, {}), "connect"));
          std::ignore = ::send(raw_clients.back().get(), &message, sizeof message, MSG_NOSIGNAL);
        }
      EXPECT_FALSE(raw_clients.empty());
    }
    EXPECT_TRUE(ranks->barrier());
    RecordingHandler handler;
    for (const std::uint32_t to : {0, 1})
      EXPECT_TRUE(transport->send(Rank{to}, {.kind = 1}, bytes_of("hello")));
    const auto are_all_closed = [&] {
      std::erase_if(raw_clients, [&](const Descriptor& raw_client) {
        char byte = 0;
        const ssize_t got = ::recv(raw_client.get(), &byte, 1, MSG_DONTWAIT);
        EXPECT_LE(got, 0) << "an invalid handshake got a reply";
        return got == 0 || errno == ECONNRESET;
      });
      return raw_clients.empty();
    };
    EXPECT_TRUE(run_until(*transport, handler, [&] {
      return handler.messages.size() == 2 && transport->queued_bytes() == 0 && are_all_closed();
    }));
    EXPECT_TRUE(handler.lost_peers.empty());
    EXPECT_TRUE(ranks->barrier());
  });
}

TEST(MessageTransportFaults, hundreds_of_silent_connections_do_not_block_ranks) {
  run_on_ranks(2, [](const CommunicatorPtr& ranks) {
    const auto transport = open_transport(*ranks);
    RecordingHandler handler;
    EXPECT_TRUE(ranks->barrier());
    std::vector<Descriptor> raw_clients;
    const auto addresses = listen_addresses();
    EXPECT_FALSE(addresses.empty());
    if (ranks->rank() == Rank{0})
      for (int raw_client = 0; raw_client < 300; ++raw_client) {
        const SocketAddress& address =
            addresses[static_cast<std::size_t>(raw_client) % addresses.size()];
        raw_clients.push_back(value_or_throw(start_connect(address, {}), "connect"));
        if (raw_client % 10 == 0) transport->poll(handler);
      }
    EXPECT_TRUE(ranks->barrier());
    const Rank other{1 - ranks->rank().number};
    EXPECT_TRUE(transport->send(other, {.kind = 1}, bytes_of("hello")));
    EXPECT_TRUE(run_until(*transport, handler, [&] {
      return handler.messages.size() == 1 && transport->queued_bytes() == 0;
    }));
    EXPECT_TRUE(handler.lost_peers.empty());
    EXPECT_TRUE(ranks->barrier());
  });
}

TEST(MessageTransportFaults, messages_larger_than_all_buffers_pass_in_both_directions) {
  run_on_ranks(3, [](const CommunicatorPtr& ranks) {
    const auto transport = open_transport(*ranks, kSmallBuffers);
    RecordingHandler handler;
    for (std::uint32_t to = 0; to < 3; ++to)
      for (std::uint32_t index = 0; index < 2; ++index)
        EXPECT_TRUE(transport->send(Rank{to}, {.kind = index},
                                    pattern(ranks->rank().number * 10 + index, kLargeBytes)));
    EXPECT_TRUE(run_until(*transport, handler, [&] {
      return handler.messages.size() == 6 && transport->queued_bytes() == 0;
    }));
    for (const RecordingHandler::Message& message : handler.messages)
      EXPECT_EQ(message.payload,
                pattern(message.from.number * 10 + message.header.kind, kLargeBytes));
    EXPECT_TRUE(ranks->barrier());
  });
}

TEST(MessageTransportFaults, non_reading_peer_does_not_delay_others) {
  run_on_ranks(3, [](const CommunicatorPtr& ranks) {
    const auto transport = open_transport(*ranks, kSmallBuffers);
    RecordingHandler handler;
    const auto connect_peers = [&] {  // to open connections
      for (std::uint32_t to = 0; to < 3; ++to)
        EXPECT_TRUE(transport->send(Rank{to}, {.kind = 1}));
      EXPECT_TRUE(run_until(*transport, handler, [&] {
        return handler.messages.size() == 3 && transport->queued_bytes() == 0;
      }));
    };
    connect_peers();
    EXPECT_TRUE(ranks->barrier());
    const Bytes large = pattern(0, kLargeBytes);
    if (ranks->rank() == Rank{0}) {
      EXPECT_TRUE(transport->send(Rank{1}, {.kind = 2}, large));
      EXPECT_TRUE(transport->send(Rank{2}, {.kind = 2}, large));
      EXPECT_TRUE(run_until(*transport, handler, [&] { return handler.messages.size() == 4; }))
          << "the reply of rank 2";
      EXPECT_GT(transport->queued_bytes(), kLargeBytes / 2) << "for rank 1";
    } else if (ranks->rank() == Rank{2}) {
      EXPECT_TRUE(run_until(*transport, handler, [&] { return handler.messages.size() == 4; }));
      EXPECT_TRUE(transport->send(Rank{0}, {.kind = 3}));
      EXPECT_TRUE(run_until(*transport, handler, [&] { return transport->queued_bytes() == 0; }));
    }
    EXPECT_TRUE(ranks->barrier());
    EXPECT_TRUE(run_until(*transport, handler, [&] {
      const bool has_all = ranks->rank() != Rank{1} || handler.messages.size() == 4;
      return has_all && transport->queued_bytes() == 0;
    }));
    EXPECT_EQ(handler.messages.back().payload.empty(), ranks->rank() == Rank{0});
    EXPECT_TRUE(handler.lost_peers.empty());
    EXPECT_TRUE(ranks->barrier());
  });
}

TEST(MessageTransportFaults, non_reading_peer_is_lost_after_the_timeout) {
  run_on_ranks(2, [](const CommunicatorPtr& ranks) {
    LinkOptions options = kSmallBuffers;
    options.socket.peer_timeout_ms = milliseconds(1000);
    const auto transport = open_transport(*ranks, options);
    RecordingHandler handler;
    for (std::uint32_t to = 0; to < 2; ++to)
      EXPECT_TRUE(transport->send(Rank{to}, {.kind = 1}));
    EXPECT_TRUE(run_until(*transport, handler, [&] {
      return handler.messages.size() == 2 && transport->queued_bytes() == 0;
    }));
    EXPECT_TRUE(ranks->barrier());
    if (ranks->rank() == Rank{0}) {
      int completed = 0;
      const Bytes large = pattern(0, kLargeBytes);
      EXPECT_TRUE(transport->send(Rank{1}, {.kind = 2}, large, [&](const Status& outcome) {
        EXPECT_FALSE(outcome);
        ++completed;
      }));
      EXPECT_TRUE(
          run_until(*transport, handler, [&] { return handler.loss_of(Rank{1}) != nullptr; }));
      EXPECT_EQ(completed, 1);
      EXPECT_EQ(transport->queued_bytes(), 0U);
      EXPECT_EQ(handler.loss_of(Rank{1})->kind(), ErrorClass::kClosed);
    }
    EXPECT_TRUE(ranks->barrier());
  });
}

TEST(MessageTransportFaults, close_reports_each_queued_message_once) {
  run_on_ranks(2, [](const CommunicatorPtr& ranks) {
    const auto transport = open_transport(*ranks, kSmallBuffers);
    RecordingHandler handler;
    EXPECT_TRUE(ranks->barrier());
    if (ranks->rank() == Rank{0}) {
      constexpr std::size_t kMessages = 100;
      std::vector<int> completed(kMessages);
      const Bytes payload = pattern(0, 1 << 20);
      for (std::size_t index = 0; index < kMessages; ++index)
        EXPECT_TRUE(
            transport->send(Rank{1}, {.kind = 2}, payload, [&completed, index](const Status& sent) {
              EXPECT_EQ(error_class(sent), ErrorClass::kCancelled);
              ++completed[index];
            }));
      transport->poll(handler);
      EXPECT_GT(transport->queued_bytes(), (kMessages - 2) << 20U);
      transport->close(Rank{1}, Error({.kind = ErrorClass::kCancelled, .operation = "leave"}));
      EXPECT_EQ(error_class(transport->send(Rank{1}, {})), ErrorClass::kCancelled);
      EXPECT_TRUE(
          run_until(*transport, handler, [&] { return handler.loss_of(Rank{1}) != nullptr; }));
      EXPECT_EQ(completed, std::vector<int>(kMessages, 1));
      EXPECT_EQ(transport->queued_bytes(), 0U);
    }
    EXPECT_TRUE(ranks->barrier());
  });
}

TEST(MessageTransportFaults, destroy_with_queued_messages_is_immediate_and_calls_no_on_sent) {
  run_on_ranks(2, [](const CommunicatorPtr& ranks) {
    auto transport = open_transport(*ranks, kSmallBuffers);
    RecordingHandler handler;
    const Rank other{1 - ranks->rank().number};
    EXPECT_TRUE(transport->send(other, {.kind = 1}));
    EXPECT_TRUE(run_until(*transport, handler, [&] {
      return handler.messages.size() == 1 && transport->queued_bytes() == 0;
    }));
    EXPECT_TRUE(ranks->barrier());
    if (ranks->rank() == Rank{0}) {
      const Bytes large = pattern(0, kLargeBytes);
      int completed = 0;
      EXPECT_TRUE(transport->send(other, {.kind = 2}, large, [&](const Status&) { ++completed; }));
      transport->poll(handler);
      transport.reset();
      EXPECT_EQ(completed, 0);
    } else {
      EXPECT_TRUE(
          run_until(*transport, handler, [&] { return handler.loss_of(Rank{0}) != nullptr; }));
      EXPECT_EQ(handler.messages.size(), 1U) << "a partial message was delivered";
    }
    EXPECT_TRUE(ranks->barrier());
  });
}

}  // namespace
}  // namespace forebay::comm
