// SPDX-License-Identifier: Apache-2.0
// A message has 88 bytes. A new socket accepts it in one send(); it may arrive in several parts.
#include "comm/handshake.hpp"

#include <algorithm>
#include <cerrno>
#include <span>
#include <utility>

#include <sys/random.h>
#include <sys/socket.h>

namespace forebay::comm {

namespace {

/// Attempts at each address that the timeout allows.
constexpr std::int64_t kConnectAttemptsMin = 3;
constexpr std::chrono::milliseconds kConnectAttemptMin{50};

/// Input of the MAC. Fields have fixed sizes, so two different handshakes never have the same
/// bytes.
struct Transcript {
  std::array<char, 24> label = {};
  std::uint64_t magic = HandshakeMessage::kMagic;
  std::uint32_t version = HandshakeMessage::kVersion;
  std::uint32_t client = 0;
  std::uint32_t server = 0;
  std::uint32_t zero = 0;
  HandshakeMessage::Nonce client_nonce = {};
  HandshakeMessage::Nonce server_nonce = {};
};
static_assert(sizeof(Transcript) == 112);

constexpr std::array<char, 24> kServerLabel{"forebay link, server"};
constexpr std::array<char, 24> kClientLabel{"forebay link, client"};

bool fill_random(std::span<std::byte> bytes) {
  return ::getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size());
}

const char* name_of(HandshakeMessage::Kind kind) {
  switch (kind) {
    case HandshakeMessage::Kind::kHello:
      return "hello";
    case HandshakeMessage::Kind::kChallenge:
      return "challenge";
    case HandshakeMessage::Kind::kProof:
      return "proof";
  }
  return "unknown";
}

bool is_zero(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{0}; });
}

}  // namespace

Result<SharedKey> generate_shared_key() {
  SharedKey key{};
  if (fill_random(key)) return key;
  return failure(system_error({.operation = "generate the shared key"}, errno));
}

Handshake::State Handshake::begin(const Descriptor& socket) {
  if (!fill_random(client_nonce_)) return fail("cannot get random bytes");
  return send(socket, Kind::kHello, client_nonce_);
}

Handshake::State Handshake::advance(const Descriptor& socket,
                                    const std::function<bool(Rank)>& accepts) {
  if (const State received = receive(socket); received != State::kDone) return received;
  message_bytes_ = 0;
  return read_message(socket, accepts);
}

/// kDone once a message is complete.
Handshake::State Handshake::receive(const Descriptor& socket) {
  const auto rest = std::as_writable_bytes(std::span(&message_, 1)).subspan(message_bytes_);
  const ssize_t got = ::recv(socket.get(), rest.data(), rest.size(), MSG_DONTWAIT);
  const bool would_block = got < 0 && (errno == EAGAIN || errno == EINTR);
  if (would_block) return State::kInProgress;
  if (got <= 0) return fail("the other end closed the connection");
  message_bytes_ += static_cast<std::size_t>(got);
  return message_bytes_ == sizeof message_ ? State::kDone : State::kInProgress;
}

Handshake::State Handshake::read_message(const Descriptor& socket,
                                         const std::function<bool(Rank)>& accepts) {
  if (!is_client_ && !peer_) return send_challenge(socket, accepts);
  const Kind expected = is_client_ ? Kind::kChallenge : Kind::kProof;
  if (check(expected) == State::kFailed) return State::kFailed;
  if (message_.from != peer_->number) return fail_field("from", message_.from);
  if (!is_client_ && !is_zero(message_.nonce)) return fail_field("nonce", 1);
  if (is_client_) server_nonce_ = message_.nonce;
  if (check_mac(expected) == State::kFailed) return State::kFailed;
  if (!is_client_) return State::kDone;
  return send(socket, Kind::kProof, {}) == State::kFailed ? State::kFailed : State::kDone;
}

Handshake::State Handshake::send_challenge(const Descriptor& socket,
                                           const std::function<bool(Rank)>& accepts) {
  if (check(Kind::kHello) == State::kFailed) return State::kFailed;
  if (!accepts(Rank{message_.from})) return fail_field("from", message_.from);
  if (!is_zero(message_.mac)) return fail_field("mac", 1);
  if (!fill_random(server_nonce_)) return fail("cannot get random bytes");
  peer_ = Rank{message_.from};
  client_nonce_ = message_.nonce;
  return send(socket, Kind::kChallenge, server_nonce_);
}

Handshake::State Handshake::check(Kind expected) {
  if (message_.magic != HandshakeMessage::kMagic) return fail_field("magic", message_.magic);
  if (message_.version != HandshakeMessage::kVersion)
    return fail_field("version", message_.version);
  if (message_.kind != expected)
    return fail_field("kind", static_cast<std::uint32_t>(message_.kind));
  if (message_.to != me_.number) return fail_field("to", message_.to);
  return State::kInProgress;
}

Handshake::State Handshake::check_mac(Kind kind) {
  const Result<Mac> expected = mac_of(kind);
  if (!expected) return fail(expected.error().message());
  if (constant_time_equal(*expected, message_.mac)) return State::kInProgress;
  return fail(std::string("handshake ") + name_of(kind) +
              ": field 'mac' is wrong: the other end does not hold the key of these ranks");
}

/// The MAC in the server's challenge, or in the client's proof.
Result<Mac> Handshake::mac_of(Kind kind) const {
  Transcript transcript;
  transcript.label = kind == Kind::kChallenge ? kServerLabel : kClientLabel;
  transcript.client = is_client_ ? me_.number : peer_->number;
  transcript.server = is_client_ ? peer_->number : me_.number;
  transcript.client_nonce = client_nonce_;
  transcript.server_nonce = server_nonce_;
  return hmac_sha256(*key_, std::as_bytes(std::span(&transcript, 1)));
}

/// Fails if the socket does not accept the whole message in one call; a new socket does.
Handshake::State Handshake::send(const Descriptor& socket, Kind kind, const Nonce& nonce) {
  HandshakeMessage message{
      .kind = kind, .from = me_.number, .to = peer_->number, .nonce = nonce, .mac = {}};
  if (kind != Kind::kHello) {
    const Result<Mac> mac = mac_of(kind);
    if (!mac) return fail(mac.error().message());
    message.mac = *mac;
  }
  const ssize_t sent = ::send(socket.get(), &message, sizeof message, MSG_NOSIGNAL);
  if (sent == static_cast<ssize_t>(sizeof message)) return State::kInProgress;
  return fail("the other end closed the connection");
}

Handshake::State Handshake::fail(std::string cause) {
  failure_reason_ = std::move(cause);
  return State::kFailed;
}

Handshake::State Handshake::fail_field(const char* field, std::uint64_t value) {
  return fail(std::string("handshake ") + name_of(message_.kind) + ": field '" + field + "' is " +
              std::to_string(value) + ": the other end is none of these ranks");
}

std::chrono::milliseconds connect_attempt_timeout(std::size_t addresses,
                                                  std::chrono::milliseconds total) {
  const auto tries = kConnectAttemptsMin * static_cast<std::int64_t>(addresses);
  return std::clamp(total / tries, kConnectAttemptMin, kConnectAttemptMax);
}

}  // namespace forebay::comm
