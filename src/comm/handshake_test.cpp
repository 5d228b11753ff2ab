// SPDX-License-Identifier: Apache-2.0
// Both ends of a handshake over a pair of sockets, with every kind of invalid message between them.
#include "comm/handshake.hpp"

#include <cstring>
#include <functional>
#include <random>
#include <span>
#include <utility>

#include <gmock/gmock.h>
#include <sys/socket.h>

#include "comm/testing.hpp"

namespace forebay::comm {
namespace {

using State = Handshake::State;
using testing::HasSubstr;

SharedKey shared_key(int number) {
  SharedKey key;
  key.fill(static_cast<std::byte>(number));
  return key;
}

std::pair<Descriptor, Descriptor> socket_pair() {
  std::array<int, 2> ends{};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()), 0);
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

bool accepts_all(Rank /*from*/) { return true; }

void send_message(const Descriptor& socket, const HandshakeMessage& message) {
  ASSERT_EQ(::send(socket.get(), &message, sizeof message, MSG_NOSIGNAL),
            static_cast<ssize_t>(sizeof message));
}

HandshakeMessage receive_message(const Descriptor& socket) {
  HandshakeMessage message;
  EXPECT_EQ(::recv(socket.get(), &message, sizeof message, 0),
            static_cast<ssize_t>(sizeof message));
  return message;
}

/// Rank 5 connects to rank 2; the test forwards the messages, and may change them.
class HandshakeTest : public testing::Test {
 protected:
  using Change = std::function<void(HandshakeMessage&)>;

  HandshakeTest() {
    std::tie(client_socket_, client_peer_) = socket_pair();
    std::tie(server_socket_, server_peer_) = socket_pair();
  }

  void forward_to_server(const Change& change = [](auto&) {}) {
    HandshakeMessage message = receive_message(client_peer_);
    change(message);
    recorded_.push_back(message);
    send_message(server_peer_, message);
  }
  void forward_to_client(const Change& change = [](auto&) {}) {
    HandshakeMessage message = receive_message(server_peer_);
    change(message);
    send_message(client_peer_, message);
  }

  /// All messages of one handshake; the server has not read the proof yet.
  void forward_all() {
    std::ignore = client_.begin(client_socket_);
    forward_to_server();
    std::ignore = advance_server();
    forward_to_client();
    std::ignore = advance_client();
    forward_to_server();
  }

  State advance_server() { return server_.advance(server_socket_, accepts_all); }
  State advance_client() { return client_.advance(client_socket_, accepts_all); }

  const SharedKey client_key_ = shared_key(1);
  const SharedKey server_key_ = shared_key(1);
  const SharedKey other_key_ = shared_key(2);
  Handshake client_ = Handshake::make_client(client_key_, Rank{5}, Rank{2});
  Handshake server_ = Handshake::make_server(server_key_, Rank{2});
  Descriptor client_socket_;
  Descriptor client_peer_;
  Descriptor server_socket_;
  Descriptor server_peer_;
  std::vector<HandshakeMessage> recorded_;
};

TEST_F(HandshakeTest, ends_with_one_key_authenticate_each_other) {
  EXPECT_EQ(client_.begin(client_socket_), State::kInProgress);
  forward_to_server();
  EXPECT_EQ(advance_server(), State::kInProgress);
  forward_to_client();
  EXPECT_EQ(advance_client(), State::kDone);
  forward_to_server();
  EXPECT_EQ(advance_server(), State::kDone);
  EXPECT_EQ(server_.peer(), Rank{5});
}

TEST_F(HandshakeTest, no_message_contains_the_key) {
  forward_all();
  for (const HandshakeMessage& message : recorded_) {
    EXPECT_NE(message.nonce, client_key_);
    EXPECT_NE(message.mac, client_key_);
  }
}

TEST_F(HandshakeTest, replayed_client_handshake_is_refused) {
  forward_all();
  ASSERT_EQ(advance_server(), State::kDone);

  auto [socket, attacker] = socket_pair();
  Handshake again = Handshake::make_server(server_key_, Rank{2});
  send_message(attacker, recorded_.at(0));
  EXPECT_EQ(again.advance(socket, accepts_all), State::kInProgress);
  send_message(attacker, recorded_.at(1));
  EXPECT_EQ(again.advance(socket, accepts_all), State::kFailed);
  EXPECT_THAT(again.failure_reason(), HasSubstr("proof: field 'mac' is wrong"));
}

TEST_F(HandshakeTest, challenge_of_another_key_is_refused_and_never_answered) {
  server_ = Handshake::make_server(other_key_, Rank{2});
  std::ignore = client_.begin(client_socket_);
  forward_to_server();
  std::ignore = advance_server();
  forward_to_client();
  EXPECT_EQ(advance_client(), State::kFailed);
  EXPECT_THAT(client_.failure_reason(), HasSubstr("challenge: field 'mac' is wrong"));
  std::byte more{};
  EXPECT_EQ(::recv(client_peer_.get(), &more, 1, 0), -1) << "it sends no proof";
}

TEST_F(HandshakeTest, proof_made_of_the_challenge_is_refused) {
  std::ignore = client_.begin(client_socket_);
  forward_to_server();
  std::ignore = advance_server();
  HandshakeMessage reflected = receive_message(server_peer_);
  reflected.kind = HandshakeMessage::Kind::kProof;
  reflected.nonce = {};
  std::swap(reflected.from, reflected.to);
  send_message(server_peer_, reflected);
  EXPECT_EQ(advance_server(), State::kFailed);
}

TEST_F(HandshakeTest, rank_that_is_not_accepted_is_refused) {
  std::ignore = client_.begin(client_socket_);
  forward_to_server();
  EXPECT_EQ(server_.advance(server_socket_, [](Rank) { return false; }), State::kFailed);
  EXPECT_THAT(server_.failure_reason(), HasSubstr("hello: field 'from' is 5"));
}

TEST_F(HandshakeTest, every_changed_field_is_refused_by_name) {
  const std::vector<std::pair<const char*, Change>> changes{
      {"magic", [](auto& m) { m.magic ^= 1U; }},
      {"version", [](auto& m) { m.version = 1; }},
      {"kind", [](auto& m) { m.kind = HandshakeMessage::Kind{77}; }},
      {"to", [](auto& m) { m.to = 9; }},
      {"mac", [](auto& m) { m.mac[0] = std::byte{1}; }},
  };
  for (const auto& [field, change] : changes) {
    client_ = Handshake::make_client(client_key_, Rank{5}, Rank{2});
    server_ = Handshake::make_server(server_key_, Rank{2});
    std::ignore = client_.begin(client_socket_);
    forward_to_server(change);
    EXPECT_EQ(advance_server(), State::kFailed) << field;
    EXPECT_THAT(server_.failure_reason(), HasSubstr("'" + std::string(field) + "'"));
  }
}

/// Each bit of the proof, in any field.
TEST_F(HandshakeTest, random_changes_of_a_proof_are_refused) {
  std::mt19937 random(20261126);
  for (int round = 0; round < 500; ++round) {
    client_ = Handshake::make_client(client_key_, Rank{5}, Rank{2});
    server_ = Handshake::make_server(server_key_, Rank{2});
    std::ignore = client_.begin(client_socket_);
    forward_to_server();
    std::ignore = advance_server();
    forward_to_client();
    ASSERT_EQ(advance_client(), State::kDone);
    forward_to_server([&](HandshakeMessage& message) {
      const auto bytes = std::as_writable_bytes(std::span(&message, 1));
      bytes[random() % bytes.size()] ^= std::byte{1} << (random() % 8);
    });
    EXPECT_EQ(advance_server(), State::kFailed);
    EXPECT_NE(server_.failure_reason(), "");
  }
}

TEST_F(HandshakeTest, message_in_single_bytes_is_read_exactly) {
  std::ignore = client_.begin(client_socket_);
  const HandshakeMessage hello = receive_message(client_peer_);
  for (const std::byte byte : std::as_bytes(std::span(&hello, 1))) {
    EXPECT_EQ(::send(server_peer_.get(), &byte, 1, 0), 1);
    EXPECT_EQ(advance_server(), State::kInProgress);
  }
  EXPECT_EQ(server_.peer(), Rank{5});
  forward_to_client();
  EXPECT_EQ(advance_client(), State::kDone);
  forward_to_server();
  const std::byte next{7};
  EXPECT_EQ(::send(server_peer_.get(), &next, 1, 0), 1);
  EXPECT_EQ(advance_server(), State::kDone);
  std::byte left{};
  EXPECT_EQ(::recv(server_socket_.get(), &left, 1, 0), 1);
  EXPECT_EQ(left, next);
}

/// RFC 4231, test case 1.
TEST(Hmac, matches_rfc_4231_test_case_1) {
  const std::string key(20, '\x0b');
  const std::string message = "Hi There";
  const auto mac = hmac_sha256(std::as_bytes(std::span(key)), std::as_bytes(std::span(message)));
  ASSERT_TRUE(mac);
  EXPECT_EQ(mac->front(), std::byte{0xb0});
  EXPECT_EQ(mac->at(1), std::byte{0x34});
  EXPECT_EQ(mac->back(), std::byte{0xf7});
  Mac other = *mac;
  EXPECT_TRUE(constant_time_equal(*mac, other));
  other.back() ^= std::byte{1};
  EXPECT_FALSE(constant_time_equal(*mac, other));
}

}  // namespace
}  // namespace forebay::comm
