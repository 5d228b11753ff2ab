// SPDX-License-Identifier: Apache-2.0
// Shared code of tests of MessageTransport: an owner that keeps messages, and a loop that sleeps on
// a transport until a condition holds, or a minute is over. For tests only.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include "comm/in_process.hpp"
#include "comm/message_transport.hpp"
#include "comm/socket.hpp"
#include "comm/testing.hpp"

namespace forebay::comm {

/// Keeps every message, in the order of arrival, and the lost peers.
class RecordingHandler final : public MessageHandler {
 public:
  struct Message {
    Rank from;
    LinkHeader header;
    Bytes payload;
  };

  Result<std::span<std::byte>> payload_buffer(Rank from, const LinkHeader& header) override {
    if (header.kind == refuse_kind) return failure({.operation = "allocate a buffer"});
    if (header.kind == drop_kind) return std::span<std::byte>();
    Bytes& buffer = buffers_[from];  // messages of one peer arrive one after the other
    buffer.assign(header.payload_bytes, std::byte{});
    return std::span(buffer);
  }

  Status handle_message(Rank from,
                        const LinkHeader& header,
                        std::span<const std::byte> payload) override {
    EXPECT_FALSE(loss_of(from)) << "a message after the loss of its sender";
    Message message{from, header, {}};
    if (!payload.empty()) message.payload = std::move(buffers_[from]);
    EXPECT_EQ(message.payload.size(), payload.size()) << "not in the memory of payload_buffer()";
    messages.push_back(std::move(message));
    if (on_message) return on_message(messages.back());
    return {};
  }

  void handle_peer_lost(Rank peer, const Error& why) override {
    EXPECT_FALSE(loss_of(peer)) << "reported twice";
    EXPECT_EQ(why.rank(), peer.number);
    lost_peers.emplace_back(peer, why);
    if (on_lost) on_lost(peer);
  }

  const Error* loss_of(Rank peer) const {
    const auto found = std::ranges::find(lost_peers, peer, &std::pair<Rank, Error>::first);
    return found == lost_peers.end() ? nullptr : &found->second;
  }

  std::vector<Message> messages;
  std::vector<std::pair<Rank, Error>> lost_peers;
  std::uint32_t drop_kind = UINT32_MAX;
  std::uint32_t refuse_kind = UINT32_MAX - 1;
  std::function<Status(const Message&)> on_message;
  std::function<void(Rank)> on_lost;

 private:
  std::map<Rank, Bytes> buffers_;
};

/// Sleeps until the transport has something to do, at most a second.
inline void wait_for_events(const MessageTransport& transport) {
  auto wait = std::chrono::milliseconds(1000);
  if (const auto due = transport.next_deadline()) {
    const auto left = *due - SteadyClock::shared().now();
    wait = std::clamp(std::chrono::ceil<std::chrono::milliseconds>(left),
                      std::chrono::milliseconds(0), wait);
  }
  pollfd entry{transport.descriptor(), POLLIN, 0};
  ::poll(&entry, 1, static_cast<int>(wait.count()));
}

/// Polls the transport until `is_done`; false after a minute.
inline bool run_until(MessageTransport& transport,
                      MessageHandler& receiver,
                      const std::function<bool()>& is_done) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!is_done()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    wait_for_events(transport);
    transport.poll(receiver);
  }
  return true;
}

inline bool run_until_lost(MessageTransport& transport, RecordingHandler& handler, Rank peer) {
  return run_until(transport, handler, [&] { return handler.loss_of(peer) != nullptr; });
}

inline std::unique_ptr<MessageTransport> open_transport(Communicator& ranks,
                                                        const LinkOptions& options = {}) {
  return value_or_throw(MessageTransport::open(ranks, options), "open a transport");
}

/// What every implementation of Communicator must carry.
class MessageTransportSuite : public CommunicatorTest {};

/// Runs `count` ranks as threads of this process; a barrier at the end.
inline void run_on_ranks(std::uint32_t count, const RankTest& test) {
  const Status ran = run_ranks({.count = count}, [&](const CommunicatorPtr& ranks) {
    test(ranks);
    return ranks->barrier();
  });
  EXPECT_TRUE(ran) << ran.error().message();
}

/// Addresses at which transports of this process listen.
inline std::vector<SocketAddress> listen_addresses() {
  constexpr int kDescriptorsMax = 1024;
  std::vector<SocketAddress> all;
  for (int number = 0; number < kDescriptorsMax; ++number) {
    int listens = 0;
    socklen_t length = sizeof listens;
    if (::getsockopt(number, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) != 0) continue;
    SocketAddress address;
    address.length = sizeof address.bytes;
    const bool is_known = ::getsockname(number, address.get(), &address.length) == 0;
    if (listens != 0 && is_known) all.push_back(address);
  }
  return all;
}

}  // namespace forebay::comm
