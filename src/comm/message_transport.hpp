// SPDX-License-Identifier: Apache-2.0
// MessageTransport: messages between any two ranks, without MPI. A thread can sleep on one
// descriptor while any rank may send to it. connect_agents() connects all with all, which suits one
// agent for each node. A MessageTransport connects two ranks when one first sends to the other. So
// thousands of ranks, each with few peers, need few descriptors.
#pragma once

#include <forebay/error.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/clock.hpp"
#include "comm/communicator.hpp"
#include "comm/link.hpp"
#include "comm/links.hpp"
#include "comm/nodes.hpp"

namespace forebay::comm {

/// Callbacks of a MessageTransport, implemented by its owner. Called inside poll() alone. May call
/// send() and close(); must not call poll() or destroy the transport.
class MessageHandler {
 public:
  virtual ~MessageHandler() = default;

  /// A message with a payload has begun. Returns the destination of the payload: memory of exactly
  /// header.payload_bytes, or an empty span to drop it. The memory must stay valid until
  /// handle_message() or handle_peer_lost(). Parts of messages of several peers arrive interleaved,
  /// so each peer needs memory of its own. An Error closes the peer `from`, as close() does.
  virtual Result<std::span<std::byte>> payload_buffer(Rank from, const LinkHeader& header) = 0;

  /// A message is complete. `payload` is the memory that payload_buffer() returned; empty if the
  /// message has no payload or it was dropped. An Error closes the peer `from`, as close() does.
  virtual Status handle_message(Rank from,
                                const LinkHeader& header,
                                std::span<const std::byte> payload) = 0;

  /// Called at most once for each peer. No more messages arrive from it or reach it. `on_sent` of
  /// messages queued for it has received `why`, which names its rank. The cause is the peer (it has
  /// closed, has died, cannot be reached, sends malformed data), or an Error of payload_buffer(),
  /// handle_message() or close().
  virtual void handle_peer_lost(Rank peer, const Error& why) = 0;
};

class Connector;
struct EndpointTable;

/// The connections of one rank with its peers. One thread at a time. Only open() blocks.
///
/// The end of a rank with which no message was exchanged is not detected. A connected peer is lost
/// when it closes its transport, dies or is silent (see SocketOptions). Bytes that arrived
/// before are received first: usually all that the peer sent. For certainty, ranks exchange a final
/// message, and close after all have received it.
class MessageTransport {
 public:
  /// Collective. Creates listeners on each rank. All ranks receive their addresses, and the shared
  /// key with which both ends of each connection authenticate (see connect_agents()). Makes no
  /// connection yet. `ranks` is not used afterwards. The options should be the same on all ranks;
  /// `connect_timeout_ms` is for each connection. If ranks fail, all get the Error of the lowest.
  static Result<std::unique_ptr<MessageTransport>> open(Communicator& ranks,
                                                        const LinkOptions& options);

  MessageTransport(const MessageTransport&) = delete;
  MessageTransport& operator=(const MessageTransport&) = delete;
  /// Drops queued messages without calling their `on_sent`. Bytes that the kernel has accepted
  /// usually still arrive.
  ~MessageTransport();

  Rank rank() const noexcept { return me_; }
  std::uint32_t size() const noexcept { return size_; }

  /// Queues a message. The first one to a peer that has not connected starts a connection, which
  /// poll() drives. If that takes longer than `connect_timeout_ms`, the peer is lost
  /// (handle_peer_lost()). A later poll() delivers messages to the own rank. Messages to one peer
  /// arrive in the order in which they were sent.
  ///
  /// `payload` must stay valid until `on_sent` is called: exactly once, possibly inside this call,
  /// unless the transport is destroyed first. It receives success when the kernel, or the own rank,
  /// has all of the payload, else the reason why the peer was lost. It may call send() and close().
  ///
  /// Sets the `payload_bytes` of the header. Fails, and passes the Error to `on_sent`, if the peer
  /// is lost, the payload is too long, or the rank does not exist.
  Status send(Rank to,
              LinkHeader header,
              std::span<const std::byte> payload,
              Link::OnSent on_sent = {});
  /// The same for a payload that the transport keeps until it is sent.
  Status send(Rank to, LinkHeader header, Bytes payload);
  /// The same for a header alone.
  Status send(Rank to, LinkHeader header) { return send(to, header, std::span<const std::byte>()); }

  /// Readable when poll() has something to do. An epoll descriptor: watch it for reading only.
  int descriptor() const noexcept { return events_.get(); }

  /// Time at which poll() must be called even if the descriptor is not readable (timeouts of
  /// connections); no value: never. Changes in send() and poll() only.
  std::optional<TimePoint> next_deadline() const noexcept;

  /// Connects, sends, receives and calls `handler`, as far as possible without blocking. Moves a
  /// few MiB for each peer and call, so that no peer starves; the descriptor stays readable if more
  /// is possible. Call it often: a peer that waits for this rank longer than its
  /// `connect_timeout_ms`, or `peer_timeout_ms`, considers this rank lost.
  void poll(MessageHandler& handler);

  /// Header and payload bytes that the kernel, or the own rank, has not accepted yet.
  std::uint64_t queued_bytes() const noexcept;

  /// Closes `peer` from this side, permanently. Nothing more is received from it. The next poll(),
  /// or the current one if called inside it, passes `why` to `on_sent` of messages queued for it,
  /// and to handle_peer_lost(). The peer then loses this rank, if it was connected, and cannot
  /// connect to it again. Does nothing if the peer is lost already.
  void close(Rank peer, Error why);

 private:
  struct Peer;
  struct OutgoingMessage;
  class PeerLinkHandler;

  MessageTransport(Communicator& ranks, const LinkOptions& options);
  Status initialize(EndpointTable endpoints, std::vector<TcpListener> listeners);

  Peer& peer_at(Rank rank);
  Status check(Rank to, std::size_t payload_bytes) const;
  Status send_by_link(Peer& peer, Link& link, OutgoingMessage message);
  void connect(Rank peer);
  void deliver_to_self(MessageHandler& handler);
  Status deliver(const OutgoingMessage& message, MessageHandler& handler);
  void process_events(MessageHandler& handler);
  void process_connects();
  void add_connection(Peer& peer, std::size_t link_index, Descriptor socket);
  void process_link_events(std::uint64_t key, short events, MessageHandler& handler);
  void update_interest(Peer& peer, const Link& link);
  void drop_peer(Peer& peer, Error why);
  void schedule_close_check(Peer& peer);
  void check_closed(Peer& peer, MessageHandler& handler);
  void report_lost(Peer& peer, const Error& why, MessageHandler& handler);
  void wake();
  void clear_wakeup();

  const Rank me_;
  const std::uint32_t size_;
  const LinkOptions options_;
  const Nodes nodes_;
  std::unique_ptr<const EndpointTable> endpoints_;
  std::unique_ptr<Connector> connector_;
  Descriptor events_;  ///< epoll: wakeup_, the connector, the links
  Descriptor wakeup_;  ///< signaled when poll() has work without an event
  bool is_wakeup_pending_ = false;
  bool is_polling_ = false;
  std::unordered_map<std::uint32_t, std::unique_ptr<Peer>> peers_;  ///< by rank; never shrinks
  std::vector<Peer*> closing_;                                      ///< a link has ended, or an
                                                                    ///< error is pending
  std::vector<Peer*> draining_;  ///< one of two connections has ended; the other is read to its end
};

}  // namespace forebay::comm
