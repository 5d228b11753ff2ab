// SPDX-License-Identifier: Apache-2.0
// Both ends of a handshake over a pair of sockets, with every kind of false message between them.
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

JobKey job_key(int number) {
  JobKey key;
  key.fill(static_cast<std::byte>(number));
  return key;
}

std::pair<Descriptor, Descriptor> socket_pair() {
  std::array<int, 2> ends{};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()), 0);
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

bool accepts_all(Rank /*from*/) { return true; }

void write_to(const Descriptor& socket, const HandshakeMessage& message) {
  ASSERT_EQ(::send(socket.get(), &message, sizeof message, MSG_NOSIGNAL),
            static_cast<ssize_t>(sizeof message));
}

HandshakeMessage read_from(const Descriptor& socket) {
  HandshakeMessage message;
  EXPECT_EQ(::recv(socket.get(), &message, sizeof message, 0),
            static_cast<ssize_t>(sizeof message));
  return message;
}

/// Rank 5 calls rank 2; the test carries the messages, and may change them.
class HandshakeTest : public testing::Test {
 protected:
  using Change = std::function<void(HandshakeMessage&)>;

  HandshakeTest() {
    std::tie(caller_socket_, to_caller_) = socket_pair();
    std::tie(answerer_socket_, to_answerer_) = socket_pair();
  }

  void carry_to_answerer(const Change& change = [](auto&) {}) {
    HandshakeMessage message = read_from(to_caller_);
    change(message);
    recorded_.push_back(message);
    write_to(to_answerer_, message);
  }
  void carry_to_caller(const Change& change = [](auto&) {}) {
    HandshakeMessage message = read_from(to_answerer_);
    change(message);
    write_to(to_caller_, message);
  }

  /// All messages of one handshake; the answerer has not read the proof yet.
  void carry_all() {
    std::ignore = caller_.begin(caller_socket_);
    carry_to_answerer();
    std::ignore = answer();
    carry_to_caller();
    std::ignore = call();
    carry_to_answerer();
  }

  State answer() { return answerer_.advance(answerer_socket_, accepts_all); }
  State call() { return caller_.advance(caller_socket_, accepts_all); }

  const JobKey caller_key_ = job_key(1);
  const JobKey answerer_key_ = job_key(1);
  const JobKey other_key_ = job_key(2);
  Handshake caller_ = Handshake::of_caller(caller_key_, Rank{5}, Rank{2});
  Handshake answerer_ = Handshake::of_answerer(answerer_key_, Rank{2});
  Descriptor caller_socket_;
  Descriptor to_caller_;
  Descriptor answerer_socket_;
  Descriptor to_answerer_;
  std::vector<HandshakeMessage> recorded_;
};

TEST_F(HandshakeTest, ends_with_one_key_authenticate_each_other) {
  EXPECT_EQ(caller_.begin(caller_socket_), State::kUnderWay);
  carry_to_answerer();
  EXPECT_EQ(answer(), State::kUnderWay);
  carry_to_caller();
  EXPECT_EQ(call(), State::kDone);
  carry_to_answerer();
  EXPECT_EQ(answer(), State::kDone);
  EXPECT_EQ(answerer_.peer(), Rank{5});
}

TEST_F(HandshakeTest, no_message_contains_the_key) {
  carry_all();
  for (const HandshakeMessage& message : recorded_) {
    EXPECT_NE(message.nonce, caller_key_);
    EXPECT_NE(message.mac, caller_key_);
  }
}

TEST_F(HandshakeTest, replayed_handshake_of_a_caller_is_refused) {
  carry_all();
  ASSERT_EQ(answer(), State::kDone);

  auto [socket, attacker] = socket_pair();
  Handshake again = Handshake::of_answerer(answerer_key_, Rank{2});
  write_to(attacker, recorded_.at(0));
  EXPECT_EQ(again.advance(socket, accepts_all), State::kUnderWay);
  write_to(attacker, recorded_.at(1));
  EXPECT_EQ(again.advance(socket, accepts_all), State::kFailed);
  EXPECT_THAT(again.trouble(), HasSubstr("proof: field 'mac' is wrong"));
}

TEST_F(HandshakeTest, challenge_of_another_key_is_refused_and_never_answered) {
  answerer_ = Handshake::of_answerer(other_key_, Rank{2});
  std::ignore = caller_.begin(caller_socket_);
  carry_to_answerer();
  std::ignore = answer();
  carry_to_caller();
  EXPECT_EQ(call(), State::kFailed);
  EXPECT_THAT(caller_.trouble(), HasSubstr("challenge: field 'mac' is wrong"));
  std::byte more{};
  EXPECT_EQ(::recv(to_caller_.get(), &more, 1, 0), -1) << "it sends no proof";
}

TEST_F(HandshakeTest, proof_made_of_the_challenge_is_refused) {
  std::ignore = caller_.begin(caller_socket_);
  carry_to_answerer();
  std::ignore = answer();
  HandshakeMessage reflected = read_from(to_answerer_);
  reflected.kind = HandshakeMessage::Kind::kProof;
  reflected.nonce = {};
  std::swap(reflected.from, reflected.to);
  write_to(to_answerer_, reflected);
  EXPECT_EQ(answer(), State::kFailed);
}

TEST_F(HandshakeTest, rank_that_is_not_accepted_is_refused) {
  std::ignore = caller_.begin(caller_socket_);
  carry_to_answerer();
  EXPECT_EQ(answerer_.advance(answerer_socket_, [](Rank) { return false; }), State::kFailed);
  EXPECT_THAT(answerer_.trouble(), HasSubstr("hello: field 'from' is 5"));
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
    caller_ = Handshake::of_caller(caller_key_, Rank{5}, Rank{2});
    answerer_ = Handshake::of_answerer(answerer_key_, Rank{2});
    std::ignore = caller_.begin(caller_socket_);
    carry_to_answerer(change);
    EXPECT_EQ(answer(), State::kFailed) << field;
    EXPECT_THAT(answerer_.trouble(), HasSubstr("'" + std::string(field) + "'"));
  }
}

/// Each bit of the proof, whichever field it lies in.
TEST_F(HandshakeTest, random_changes_of_a_proof_are_refused) {
  std::mt19937 random(20261126);
  for (int round = 0; round < 500; ++round) {
    caller_ = Handshake::of_caller(caller_key_, Rank{5}, Rank{2});
    answerer_ = Handshake::of_answerer(answerer_key_, Rank{2});
    std::ignore = caller_.begin(caller_socket_);
    carry_to_answerer();
    std::ignore = answer();
    carry_to_caller();
    ASSERT_EQ(call(), State::kDone);
    carry_to_answerer([&](HandshakeMessage& message) {
      const auto bytes = std::as_writable_bytes(std::span(&message, 1));
      bytes[random() % bytes.size()] ^= std::byte{1} << (random() % 8);
    });
    EXPECT_EQ(answer(), State::kFailed);
    EXPECT_NE(answerer_.trouble(), "");
  }
}

TEST_F(HandshakeTest, message_that_comes_byte_by_byte_is_read_and_nothing_after_it) {
  std::ignore = caller_.begin(caller_socket_);
  const HandshakeMessage hello = read_from(to_caller_);
  for (const std::byte byte : std::as_bytes(std::span(&hello, 1))) {
    EXPECT_EQ(::send(to_answerer_.get(), &byte, 1, 0), 1);
    EXPECT_EQ(answer(), State::kUnderWay);
  }
  EXPECT_EQ(answerer_.peer(), Rank{5});
  carry_to_caller();
  EXPECT_EQ(call(), State::kDone);
  carry_to_answerer();
  const std::byte next{7};
  EXPECT_EQ(::send(to_answerer_.get(), &next, 1, 0), 1);
  EXPECT_EQ(answer(), State::kDone);
  std::byte left{};
  EXPECT_EQ(::recv(answerer_socket_.get(), &left, 1, 0), 1);
  EXPECT_EQ(left, next);
}

/// RFC 4231, test case 2.
TEST(Hmac, known_message_has_the_known_code) {
  const std::string key = "Jefe";
  const std::string message = "what do ya want for nothing?";
  const auto mac = hmac_sha256(std::as_bytes(std::span(key)), std::as_bytes(std::span(message)));
  ASSERT_TRUE(mac);
  EXPECT_EQ(mac->front(), std::byte{0x5b});
  EXPECT_EQ(mac->at(1), std::byte{0xdc});
  EXPECT_EQ(mac->back(), std::byte{0x43});
  Mac other = *mac;
  EXPECT_TRUE(equal_in_constant_time(*mac, other));
  other.back() ^= std::byte{1};
  EXPECT_FALSE(equal_in_constant_time(*mac, other));
}

}  // namespace
}  // namespace forebay::comm
