// SPDX-License-Identifier: Apache-2.0
// Link: messages between two ranks over a stream socket. A message is a header of fixed size and a
// payload. The process copies no payload: sendmsg() reads it from the sender's memory, recvmsg()
// writes it to its destination. Nothing here blocks: the owner polls the descriptor and drives the
// link.
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

/// Starts each message. Sent in native byte order: both ends are the same program on the same kind
/// of machine.
struct LinkHeader {
  std::uint32_t payload_bytes = 0;  ///< set by send()
  std::uint32_t kind = 0;           ///< the owners define `kind` and `words`
  std::array<std::uint64_t, 4> words = {};
};
static_assert(sizeof(LinkHeader) == 40);

class Link;

/// Callbacks of a link, implemented by its owner and called by process_events(). A returned Error
/// ends the link with that Error. A callback may send on the link; it must not destroy it.
class LinkHandler {
 public:
  virtual ~LinkHandler() = default;

  /// A message with a payload has begun. Returns the destination of the payload: memory of exactly
  /// header.payload_bytes, or an empty span to drop it. The memory must stay valid until
  /// handle_message(), or until the link has ended.
  virtual Result<std::span<std::byte>> payload_buffer(Link& link, const LinkHeader& header) = 0;

  /// A message is complete. `payload` is the memory that payload_buffer() returned; empty if the
  /// message has no payload or it was dropped.
  virtual Status handle_message(Link& link,
                                const LinkHeader& header,
                                std::span<const std::byte> payload) = 0;
};

struct LinkLimits {
  /// Longer payloads are an Error on both sides: a damaged length must not become an allocation.
  std::uint32_t payload_bytes_max = std::uint32_t{64} << 20U;
};

/// Fails with kLimit if a payload is too long for the links to `peer`.
Status check_payload(std::size_t payload_bytes, const LinkLimits& limits, Rank peer);

/// One end of a connection. Belongs to one thread at a time. Messages arrive in the order in which
/// they were sent.
///
/// A link ends once, permanently, with an Error that names the peer's rank: class kClosed if the
/// peer has closed the link, has died or was silent for too long; kDamage if it sent malformed
/// data; or the Error of a callback. close() ends it with the Error of the owner. Data that has
/// arrived is read first, even if sending detects the end. A peer that stops reading, while more is
/// sent than the kernel buffers, counts as silent: TCP_USER_TIMEOUT does not distinguish the two.
class Link {
 public:
  /// Called when the link no longer needs the memory of a payload: with success once the kernel has
  /// all of it, else with the reason why the link has ended.
  using OnSent = std::function<void(const Status&)>;

  /// Takes over a connected, non-blocking stream socket.
  Link(Rank peer, Descriptor socket, LinkLimits limits = {});
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  /// Drops queued messages without calling their `on_sent`.
  ~Link() = default;

  Rank peer() const noexcept { return peer_; }

  /// Descriptor to poll. Readable also when the link has ended.
  int descriptor() const noexcept { return socket_.get(); }
  /// For poll() or epoll: POLLIN, and POLLOUT while messages are queued. Changes in send(),
  /// process_events() and close() only.
  short interest() const noexcept;

  /// Passes to the kernel the bytes that it accepts without blocking, and queues the rest of the
  /// message. `payload` must stay valid until `on_sent` is called: exactly once, possibly inside
  /// this call, unless the link is destroyed first. Sets the `payload_bytes` of the header. Fails,
  /// and passes the Error to `on_sent`, if the link has ended or the payload is too long.
  Status send(LinkHeader header, std::span<const std::byte> payload, OnSent on_sent = {});

  /// Sends and receives, as far as `events` (revents of poll()) allows without blocking, and calls
  /// `handler`. Returns after a few MiB, so that one link does not starve others. Fails if the link
  /// has ended, before or during this call.
  Status process_events(short events, LinkHandler& handler);

  /// Ends the link from this side. Passes `why` to `on_sent` of queued messages. Calls shutdown(),
  /// so the peer detects the end immediately, even if another process has the socket open.
  void close(Error why);
  /// Why the link has ended, if it has.
  const std::optional<Error>& close_reason() const noexcept { return close_reason_; }
  /// Header and payload bytes that the kernel has not accepted yet.
  std::uint64_t queued_bytes() const noexcept { return queued_bytes_; }

 private:
  struct Outgoing {
    LinkHeader header;
    std::span<const std::byte> payload;
    OnSent on_sent;
    std::size_t sent_bytes = 0;

    std::size_t unsent_bytes() const noexcept {
      return sizeof header + payload.size() - sent_bytes;
    }
  };

  void write_queue();
  bool write_some();
  void consume_sent(std::size_t sent_bytes);
  void read_stream(LinkHandler& handler);
  std::span<std::byte> payload_target();
  Status process_received(std::size_t bytes, LinkHandler& handler);
  Status begin_message(LinkHandler& handler);
  Status end_message(LinkHandler& handler);
  bool is_at_boundary() const noexcept { return payload_missing_ == 0 && header_received_ == 0; }
  void fail(Error why);
  Error closed_error(int error_number, const char* cause) const;

  const Rank peer_;
  const Descriptor socket_;
  const LinkLimits limits_;
  std::optional<Error> close_reason_;
  std::optional<Error> send_error_;  ///< sending failed; the link ends after received data is read

  std::deque<Outgoing> queue_;
  std::uint64_t queued_bytes_ = 0;
  bool is_writing_ = false;  ///< write_queue() is running: messages sent by on_sent are queued

  LinkHeader partial_header_;  ///< being received
  std::size_t header_received_ = 0;
  LinkHeader payload_header_;     ///< of the payload being received
  std::span<std::byte> payload_;  ///< where the payload goes; empty although bytes are
                                  ///< missing: the payload is dropped
  std::size_t payload_missing_ = 0;
  std::vector<std::byte> discard_buffer_;  ///< destination of dropped payloads
};

}  // namespace forebay::comm
