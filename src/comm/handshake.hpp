// SPDX-License-Identifier: Apache-2.0
// Handshake: two ranks authenticate each other on a new connection. An address may lead to another
// job: different hosts can have the same private address, and ports are reused. A connection
// therefore carries messages only after both ends have proved that they hold the same key.
//
//   client                                             server
//   HELLO      version, ranks, nonce_a          -->
//              <--  CHALLENGE  nonce_b, HMAC(key, "server", ranks, nonce_a, nonce_b)
//   PROOF      HMAC(key, "client", ranks, nonce_a, nonce_b)  -->
//
// The client is the rank that connects. The key is never sent on a connection. Both nonces are
// random, so a replayed handshake is refused. The third message also makes both ends agree on one
// of several attempts: a server accepts a connection only after the proof, and a client sends no
// proof after its timeout.
//
// The handshake authenticates the ends of a connection when it begins. It does not encrypt or sign
// what follows.
#pragma once

#include <forebay/error.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/descriptor.hpp"
#include "comm/hmac.hpp"
#include "comm/nodes.hpp"

namespace forebay::comm {

/// A secret of the ranks that one connect_agents() or MessageTransport::open() connects. Rank 0
/// generates it, and sends it to all of them through their Communicator.
using SharedKey = std::array<std::byte, 32>;
Result<SharedKey> generate_shared_key();

/// Sent in native byte order; the magic detects a peer with the other byte order.
struct HandshakeMessage {
  static constexpr std::uint64_t kMagic = 0x79616265726f66;  // "forebay", and the byte order
  static constexpr std::uint32_t kVersion = 2;
  enum class Kind : std::uint32_t { kHello, kChallenge, kProof };
  using Nonce = std::array<std::byte, 32>;

  std::uint64_t magic = kMagic;
  std::uint32_t version = kVersion;
  Kind kind = Kind::kHello;
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  Nonce nonce = {};  ///< zeros in a proof
  Mac mac = {};      ///< zeros in a hello
};
static_assert(sizeof(HandshakeMessage) == 88);

/// One end of one connection. Holds two nonces and at most one message of the other end. Never
/// blocks. Never reads past the last message of the handshake: later bytes are for the Link. The
/// owner enforces the deadline.
class Handshake {
 public:
  enum class State : std::uint8_t {
    kInProgress,
    kDone,    ///< the other end has proved that it holds the key, and this end has sent its proof
    kFailed,  ///< close the connection; failure_reason() has the cause
  };

  /// `key` must outlive this.
  static Handshake make_client(const SharedKey& key, Rank me, Rank peer) { return {key, me, peer}; }
  static Handshake make_server(const SharedKey& key, Rank me) { return {key, me, std::nullopt}; }

  /// Client only: call once the socket is connected.
  State begin(const Descriptor& socket);

  /// Call when the socket is readable. A server refuses ranks for which `accepts` is false.
  State advance(const Descriptor& socket, const std::function<bool(Rank)>& accepts);

  /// The rank that the other end claims; proved once the state is kDone.
  const std::optional<Rank>& peer() const noexcept { return peer_; }
  /// Message kind, field and value, or another cause.
  const std::string& failure_reason() const noexcept { return failure_reason_; }

 private:
  using Kind = HandshakeMessage::Kind;
  using Nonce = HandshakeMessage::Nonce;

  Handshake(const SharedKey& key, Rank me, std::optional<Rank> peer)
      : key_(&key), me_(me), peer_(peer), is_client_(peer.has_value()) {}

  State receive(const Descriptor& socket);
  State read_message(const Descriptor& socket, const std::function<bool(Rank)>& accepts);
  State send_challenge(const Descriptor& socket, const std::function<bool(Rank)>& accepts);
  State check(Kind expected);
  State check_mac(Kind kind);
  State send(const Descriptor& socket, Kind kind, const Nonce& nonce);
  State fail(std::string cause);
  State fail_field(const char* field, std::uint64_t value);
  Result<Mac> mac_of(Kind kind) const;

  const SharedKey* key_;
  Rank me_;
  std::optional<Rank> peer_;
  bool is_client_;
  Nonce client_nonce_ = {};
  Nonce server_nonce_ = {};
  HandshakeMessage message_ = {};  ///< being received
  std::size_t message_bytes_ = 0;
  std::string failure_reason_ = {};
};

/// Limit of a client's attempt: connect() and handshake.
inline constexpr std::chrono::milliseconds kConnectAttemptMax{3'000};
/// Limit of an accepted connection's handshake. Longer than an attempt, so the client times out
/// first.
inline constexpr std::chrono::milliseconds kHandshakeTimeoutMax = 2 * kConnectAttemptMax;
/// Pause of a client after it has tried all addresses.
inline constexpr std::chrono::milliseconds kRetryDelay{20};

/// The limit of one attempt for a peer with `addresses` addresses: the timeout `total` allows three
/// rounds over all of them. At least 50 ms, at most kConnectAttemptMax.
std::chrono::milliseconds connect_attempt_timeout(std::size_t addresses,
                                                  std::chrono::milliseconds total);

}  // namespace forebay::comm
