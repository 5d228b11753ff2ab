// SPDX-License-Identifier: Apache-2.0
// Messages between two agents over a stream socket. A message is a small fixed header, which says
// what it is, and a payload, which goes from the sender's memory straight to where the receiver
// wants it. Nobody waits in here: who polls the descriptor drives it.
#pragma once

#include <forebay/error.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "comm/nodes.hpp"
#include "comm/socket.hpp"

namespace forebay::comm {

/// What travels before each payload, as it is: both ends are the same program on the same kind of
/// machine.
struct LinkHeader {
  std::uint32_t payload_bytes = 0;  ///< set by send()
  std::uint32_t kind = 0;           ///< means something to the owners alone, like what follows
  std::array<std::uint64_t, 4> words = {};
};
static_assert(sizeof(LinkHeader) == 40);

class Link;

/// The owner of links, as what arrives sees it. An Error returned ends the link with it. May send
/// on the link; must not destroy it.
class LinkReceiver {
 public:
  virtual ~LinkReceiver() = default;

  /// A message with a payload has begun: returns the memory of header.payload_bytes that it goes
  /// to, which must stay until received(), or until the link has ended; or nothing, if it is to be
  /// dropped.
  virtual Result<std::span<std::byte>> place(Link& link, const LinkHeader& header) = 0;

  /// A message is there. `payload` is the memory that place() gave; empty if there is no payload or
  /// it was dropped.
  virtual Status received(Link& link,
                          const LinkHeader& header,
                          std::span<const std::byte> payload) = 0;
};

struct LinkLimits {
  /// Messages with more are an Error on both sides: a damaged length must not become an allocation.
  std::uint32_t payload_bytes_max = std::uint32_t{64} << 20U;
};

/// Fails with kLimit if a payload is too long for the links to `peer`.
Status check_payload(std::size_t payload_bytes, const LinkLimits& limits, Rank peer);

/// One of two ends. Belongs to one thread at a time. Messages arrive in the order in which they
/// were sent.
///
/// A link ends once, for good: with an Error of class kClosed when the peer has closed it, has died
/// or was silent for too long, with kDamage when what arrives makes no sense, or with an Error of
/// the receiver. The Error names the peer's rank. What has arrived is read first, also where the
/// end is noticed in sending. A peer that stops reading, while more is sent than the kernel holds,
/// counts as silent: TCP_USER_TIMEOUT knows no difference.
class Link {
 public:
  /// What is told when the memory of a payload is free again: success once the kernel has all of
  /// it, or why the link has ended.
  using OnSent = std::function<void(const Status&)>;

  /// Takes over a connected, non-blocking stream socket.
  Link(Rank peer, Descriptor socket, LinkLimits limits = {});
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  /// Drops what is queued, and what was to be told, without telling it.
  ~Link() = default;

  Rank peer() const noexcept { return peer_; }

  /// What to poll. Readable also when the link has ended.
  int descriptor() const noexcept { return socket_.get(); }
  /// For poll() or epoll: POLLIN, and POLLOUT while something is queued. Changes in send() and
  /// attend() only.
  short interest() const noexcept;

  /// Queues a message, after handing to the kernel what it takes at once. `payload` stays until
  /// `on_sent` was called, which is exactly once, maybe from within. `header.payload_bytes` is set
  /// here. Fails, and tells `on_sent` so, if the link has ended or the payload is too long.
  Status send(LinkHeader header, std::span<const std::byte> payload, OnSent on_sent = {});

  /// Does what poll() says (its revents) can be done without blocking: sends, receives and hands
  /// over. Returns after a few MiB, so that an owner of many links is fair. Fails if the link ends
  /// now or has ended.
  Status attend(short events, LinkReceiver& receiver);

  /// Ends the link from this side: what is queued is told `why`, and the peer learns it at once,
  /// whoever else holds the socket.
  void close(Error why);
  /// Why the link has ended, if it has.
  const std::optional<Error>& end() const noexcept { return end_; }
  /// Header and payload bytes that the kernel has not taken yet.
  std::uint64_t queued_bytes() const noexcept { return queued_bytes_; }

 private:
  struct Outgoing {
    LinkHeader header;
    std::span<const std::byte> payload;
    OnSent on_sent;
    std::size_t sent_bytes = 0;

    std::size_t left_bytes() const noexcept { return sizeof header + payload.size() - sent_bytes; }
  };

  void write_queue();
  bool write_some();
  void take_off(std::size_t sent_bytes);
  void read_stream(LinkReceiver& receiver);
  std::span<std::byte> payload_target();
  Status digest(std::size_t bytes, LinkReceiver& receiver);
  Status begin_message(LinkReceiver& receiver);
  Status end_message(LinkReceiver& receiver);
  bool at_boundary() const noexcept { return payload_left_ == 0 && header_filled_ == 0; }
  void finish(Error why);
  Error closed(int error_number, const char* cause) const;

  const Rank peer_;
  const Descriptor socket_;
  const LinkLimits limits_;
  std::optional<Error> end_;
  std::optional<Error> cut_;  ///< nothing leaves any more; what has come is read, then it ends

  std::deque<Outgoing> queue_;
  std::uint64_t queued_bytes_ = 0;
  bool writing_ = false;  ///< write_queue() is under way: what on_sent sends waits for its turn

  LinkHeader header_;  ///< the one that fills
  std::size_t header_filled_ = 0;
  LinkHeader arriving_;           ///< of the payload that counts down
  std::span<std::byte> payload_;  ///< empty while payload_left_ > 0: it is dropped
  std::size_t payload_left_ = 0;
  std::vector<std::byte> dropped_;  ///< where payloads go that nobody wants
};

}  // namespace forebay::comm
