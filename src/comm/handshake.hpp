// SPDX-License-Identifier: Apache-2.0
// How two ranks authenticate each other on a new connection. An address may lead to another job:
// hosts have the same private addresses, ports are used again. A connection therefore carries
// messages only after both ends have proved that they hold the key of the job.
//
//   caller                                             answerer
//   HELLO      version, ranks, nonce_a          -->
//              <--  CHALLENGE  nonce_b, HMAC(key, "server", ranks, nonce_a, nonce_b)
//   PROOF      HMAC(key, "client", ranks, nonce_a, nonce_b)  -->
//
// The key itself is never sent. Both nonces are random, so that a recorded handshake is refused.
// The third message also makes both ends agree on one of several attempts: an answerer counts a
// connection only after the proof, and a caller that has given up sends none.
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

/// The secret of one job. Rank 0 draws it, and the ranks' Communicator carries it.
using JobKey = std::array<std::byte, 32>;
Result<JobKey> draw_job_key();

/// Sent as it lies in memory: a machine of the other byte order is refused by the magic.
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

/// One end of one connection. Holds two nonces and at most one message of the other end; never
/// blocks, and never reads past the last message. The owner sets the deadline.
class Handshake {
 public:
  enum class State : std::uint8_t {
    kUnderWay,
    kDone,    ///< the other end holds the key, and has or will have the same proof of this one
    kFailed,  ///< close the connection; trouble() names the reason
  };

  /// `key` must outlive this.
  static Handshake of_caller(const JobKey& key, Rank me, Rank peer) { return {key, me, peer}; }
  static Handshake of_answerer(const JobKey& key, Rank me) { return {key, me, std::nullopt}; }

  /// On the caller, once the socket is connected.
  State begin(const Descriptor& socket);

  /// Call when the socket is readable. An answerer refuses ranks for which `accepts` is false.
  State advance(const Descriptor& socket, const std::function<bool(Rank)>& accepts);

  /// The rank that the other end claims; proved once the state is kDone.
  const std::optional<Rank>& peer() const noexcept { return peer_; }
  /// Message kind, field and value, or what else was in the way.
  const std::string& trouble() const noexcept { return trouble_; }

 private:
  using Kind = HandshakeMessage::Kind;
  using Nonce = HandshakeMessage::Nonce;

  Handshake(const JobKey& key, Rank me, std::optional<Rank> peer)
      : key_(&key), me_(me), peer_(peer), is_caller_(peer.has_value()) {}

  State receive(const Descriptor& socket);
  State read_message(const Descriptor& socket, const std::function<bool(Rank)>& accepts);
  State answer_hello(const Descriptor& socket, const std::function<bool(Rank)>& accepts);
  State check(Kind expected);
  State check_mac(Kind sender);
  State send(const Descriptor& socket, Kind kind, const Nonce& nonce);
  State fail(std::string trouble);
  State fail_field(const char* field, std::uint64_t value);
  Result<Mac> mac_of(Kind sender) const;

  const JobKey* key_;
  Rank me_;
  std::optional<Rank> peer_;
  bool is_caller_;
  Nonce caller_nonce_ = {};
  Nonce answerer_nonce_ = {};
  HandshakeMessage message_ = {};  ///< that arrives
  std::size_t message_bytes_ = 0;
  std::string trouble_ = {};
};

/// How long a try to reach a peer may take, and how long an answered call may take to prove itself:
/// more, as the caller gives up first.
inline constexpr std::chrono::milliseconds kTryMax{3'000};
inline constexpr std::chrono::milliseconds kAnswerMax = 2 * kTryMax;
inline constexpr std::chrono::milliseconds kPauseBetweenRounds{20};

/// The limit of one try for a peer of `addresses` addresses, within the time `all`: short enough
/// for a second round over all addresses.
std::chrono::milliseconds try_limit(std::size_t addresses, std::chrono::milliseconds all);

}  // namespace forebay::comm
