// SPDX-License-Identifier: Apache-2.0
// Eighty-eight bytes a message, which a new socket takes and returns in one piece or nearly so.
#include "comm/handshake.hpp"

#include <algorithm>
#include <cerrno>
#include <span>
#include <utility>

#include <sys/random.h>
#include <sys/socket.h>

namespace forebay::comm {

namespace {

/// A try takes no longer than this share of all the time there is.
constexpr std::int64_t kTriesMin = 3;
constexpr std::chrono::milliseconds kTryMin{50};

/// What both ends sign: fixed sizes, so that no two handshakes have the same bytes.
struct Transcript {
  std::array<char, 24> label = {};
  std::uint64_t magic = HandshakeMessage::kMagic;
  std::uint32_t version = HandshakeMessage::kVersion;
  std::uint32_t caller = 0;
  std::uint32_t answerer = 0;
  std::uint32_t zero = 0;
  HandshakeMessage::Nonce caller_nonce = {};
  HandshakeMessage::Nonce answerer_nonce = {};
};
static_assert(sizeof(Transcript) == 112);

constexpr std::array<char, 24> kServerLabel{"forebay link, server"};
constexpr std::array<char, 24> kClientLabel{"forebay link, client"};

bool draw(std::span<std::byte> bytes) {
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

Result<JobKey> draw_job_key() {
  JobKey key{};
  if (draw(key)) return key;
  return failure(system_error({.operation = "draw the key of a job"}, errno));
}

Handshake::State Handshake::begin(const Descriptor& socket) {
  if (!draw(caller_nonce_)) return fail("no random bytes");
  return send(socket, Kind::kHello, caller_nonce_);
}

Handshake::State Handshake::advance(const Descriptor& socket,
                                    const std::function<bool(Rank)>& accepts) {
  if (const State received = receive(socket); received != State::kDone) return received;
  message_bytes_ = 0;
  return read_message(socket, accepts);
}

/// kDone once a message is whole.
Handshake::State Handshake::receive(const Descriptor& socket) {
  const auto rest = std::as_writable_bytes(std::span(&message_, 1)).subspan(message_bytes_);
  const ssize_t got = ::recv(socket.get(), rest.data(), rest.size(), MSG_DONTWAIT);
  const bool is_early = got < 0 && (errno == EAGAIN || errno == EINTR);
  if (is_early) return State::kUnderWay;
  if (got <= 0) return fail("the other end closed the connection");
  message_bytes_ += static_cast<std::size_t>(got);
  return message_bytes_ == sizeof message_ ? State::kDone : State::kUnderWay;
}

Handshake::State Handshake::read_message(const Descriptor& socket,
                                         const std::function<bool(Rank)>& accepts) {
  if (!is_caller_ && !peer_) return answer_hello(socket, accepts);
  const Kind expected = is_caller_ ? Kind::kChallenge : Kind::kProof;
  if (check(expected) == State::kFailed) return State::kFailed;
  if (message_.from != peer_->number) return fail_field("from", message_.from);
  if (!is_caller_ && !is_zero(message_.nonce)) return fail_field("nonce", 1);
  if (is_caller_) answerer_nonce_ = message_.nonce;
  if (check_mac(expected) == State::kFailed) return State::kFailed;
  if (!is_caller_) return State::kDone;
  return send(socket, Kind::kProof, {}) == State::kFailed ? State::kFailed : State::kDone;
}

Handshake::State Handshake::answer_hello(const Descriptor& socket,
                                         const std::function<bool(Rank)>& accepts) {
  if (check(Kind::kHello) == State::kFailed) return State::kFailed;
  if (!accepts(Rank{message_.from})) return fail_field("from", message_.from);
  if (!is_zero(message_.mac)) return fail_field("mac", 1);
  if (!draw(answerer_nonce_)) return fail("no random bytes");
  peer_ = Rank{message_.from};
  caller_nonce_ = message_.nonce;
  return send(socket, Kind::kChallenge, answerer_nonce_);
}

Handshake::State Handshake::check(Kind expected) {
  if (message_.magic != HandshakeMessage::kMagic) return fail_field("magic", message_.magic);
  if (message_.version != HandshakeMessage::kVersion)
    return fail_field("version", message_.version);
  if (message_.kind != expected)
    return fail_field("kind", static_cast<std::uint32_t>(message_.kind));
  if (message_.to != me_.number) return fail_field("to", message_.to);
  return State::kUnderWay;
}

Handshake::State Handshake::check_mac(Kind sender) {
  const Result<Mac> expected = mac_of(sender);
  if (!expected) return fail(expected.error().message());
  if (equal_in_constant_time(*expected, message_.mac)) return State::kUnderWay;
  return fail(std::string("handshake ") + name_of(sender) +
              ": field 'mac' is wrong: the other end does not hold the key of this job");
}

/// Over a challenge of the answerer, or a proof of the caller.
Result<Mac> Handshake::mac_of(Kind sender) const {
  Transcript signed_bytes;
  signed_bytes.label = sender == Kind::kChallenge ? kServerLabel : kClientLabel;
  signed_bytes.caller = is_caller_ ? me_.number : peer_->number;
  signed_bytes.answerer = is_caller_ ? peer_->number : me_.number;
  signed_bytes.caller_nonce = caller_nonce_;
  signed_bytes.answerer_nonce = answerer_nonce_;
  return hmac_sha256(*key_, std::as_bytes(std::span(&signed_bytes, 1)));
}

/// Fails if the socket does not take all of it at once: a new one does, or is of no use.
Handshake::State Handshake::send(const Descriptor& socket, Kind kind, const Nonce& nonce) {
  HandshakeMessage message{
      .kind = kind, .from = me_.number, .to = peer_->number, .nonce = nonce, .mac = {}};
  if (kind != Kind::kHello) {
    const Result<Mac> mac = mac_of(kind);
    if (!mac) return fail(mac.error().message());
    message.mac = *mac;
  }
  const ssize_t sent = ::send(socket.get(), &message, sizeof message, MSG_NOSIGNAL);
  if (sent == static_cast<ssize_t>(sizeof message)) return State::kUnderWay;
  return fail("the other end closed the connection");
}

Handshake::State Handshake::fail(std::string trouble) {
  trouble_ = std::move(trouble);
  return State::kFailed;
}

Handshake::State Handshake::fail_field(const char* field, std::uint64_t value) {
  return fail(std::string("handshake ") + name_of(message_.kind) + ": field '" + field + "' is " +
              std::to_string(value) + ": the other end is no rank of this job");
}

std::chrono::milliseconds try_limit(std::size_t addresses, std::chrono::milliseconds all) {
  const auto tries = kTriesMin * static_cast<std::int64_t>(addresses);
  return std::clamp(all / tries, kTryMin, kTryMax);
}

}  // namespace forebay::comm
