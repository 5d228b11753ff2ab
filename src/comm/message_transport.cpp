// SPDX-License-Identifier: Apache-2.0
// The first connection with a peer, opened by either side, carries all that this rank sends to it.
// Two ranks that connect to each other at the same moment have a second one, on which this rank
// only receives. Ended connections are handled at the end of poll(), when no call of a link is
// active.
#include "comm/message_transport.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "base/assert.hpp"
#include "base/checked_cast.hpp"
#include "comm/connector.hpp"
#include "comm/endpoint_table.hpp"

namespace forebay::comm {

namespace {

constexpr int kEventsMax = 64;                                       ///< in one call of poll()
constexpr std::size_t kSelfBytesPerPollMax = std::size_t{4} << 20U;  ///< in one call of poll(), to
                                                                     ///< the own rank
constexpr std::size_t kLinksPerPeer = 2;                             ///< one opened by each side

constexpr std::uint64_t kWakeupKey = 0;
constexpr std::uint64_t kConnectorKey = 1;
constexpr std::uint64_t kFirstLinkKey = 2;

/// A peer has at most two links in total, so no key is ever reused.
std::uint64_t link_key(Rank peer, std::size_t link_index) {
  return kFirstLinkKey + std::uint64_t{kLinksPerPeer} * peer.number + link_index;
}

bool watch(const Descriptor& set, int descriptor, short events, std::uint64_t key) {
  epoll_event event{.events = static_cast<std::uint32_t>(events), .data = {.u64 = key}};
  return ::epoll_ctl(set.get(), EPOLL_CTL_ADD, descriptor, &event) == 0;
}

Status status_of(const Error& error) { return failure(error); }

tl::unexpected<Error> open_failure(int error_number) {
  return failure(system_error({.operation = "open a message transport"}, error_number));
}

struct TransportSetup {
  std::vector<TcpListener> listeners;
  SharedKey key = {};  ///< of rank 0
};

Status open_listeners(const Communicator& ranks, const LinkOptions& options, TransportSetup& mine) {
  if (ranks.size() == 1) return {};
  if (ranks.rank() == Rank{0}) {
    const Result<SharedKey> key = generate_shared_key();
    if (!key) return failure(key.error());
    mine.key = *key;
  }
  Result<std::vector<TcpListener>> listeners =
      listen_on(options.network, options.socket, ranks.nodes());
  if (!listeners) return failure(listeners.error());
  mine.listeners = std::move(*listeners);
  return {};
}

}  // namespace

struct MessageTransport::OutgoingMessage {
  LinkHeader header;
  std::span<const std::byte> payload;
  Link::OnSent on_sent;

  std::uint64_t bytes() const noexcept { return sizeof header + payload.size(); }
  void report(const Status& outcome) const {
    if (on_sent) on_sent(outcome);
  }
};

struct MessageTransport::Peer {
  Rank rank;
  std::array<std::unique_ptr<Link>, kLinksPerPeer> links = {};  ///< until the peer is lost; may
                                                                ///< have ended
  std::array<short, kLinksPerPeer> interest = {};
  Link* send_link = nullptr;               ///< for all messages; set once it has taken the queue
  const Link* receive_link = nullptr;      ///< the only one that delivers messages
  std::deque<OutgoingMessage> queue = {};  ///< waiting for a connection, or for the own rank
  std::uint64_t queued_bytes = 0;
  bool is_connect_started = false;
  bool is_close_pending = false;
  std::optional<Error> pending_error = {};       ///< why it will be lost
  std::optional<TimePoint> drain_deadline = {};  ///< one connection has ended; lost at this time
  std::optional<Error> close_reason = {};        ///< why it is lost

  const std::optional<Error>& unavailable_reason() const noexcept {
    return close_reason ? close_reason : pending_error;
  }
  void enqueue(OutgoingMessage message) {
    queued_bytes += message.bytes();
    queue.push_back(std::move(message));
  }
  OutgoingMessage dequeue() {
    OutgoingMessage message = std::move(queue.front());
    queue.pop_front();
    queued_bytes -= message.bytes();
    return message;
  }
};

/// Passes the callbacks of one peer's links to the owner.
class MessageTransport::PeerLinkHandler final : public LinkHandler {
 public:
  PeerLinkHandler(Peer& peer, MessageHandler& handler) : peer_(peer), handler_(handler) {}

  Result<std::span<std::byte>> payload_buffer(Link& link, const LinkHeader& header) override {
    if (Status checked = check(link, header); !checked) return failure(checked.error());
    Result<std::span<std::byte>> buffer = handler_.payload_buffer(peer_.rank, header);
    if (!buffer) handler_error_ = buffer.error();
    return buffer;
  }
  Status handle_message(Link& link,
                        const LinkHeader& header,
                        std::span<const std::byte> payload) override {
    if (Status checked = check(link, header); !checked) return checked;
    Status handled = handler_.handle_message(peer_.rank, header, payload);
    if (!handled) handler_error_ = handled.error();
    return handled;
  }
  const std::optional<Error>& handler_error() const noexcept { return handler_error_; }

 private:
  /// Rejects messages on a second connection: a rank sends on one only. The handler has one payload
  /// buffer for each peer, which interleaved messages of two connections would share.
  Status check(const Link& link, const LinkHeader& header) {
    if (peer_.pending_error) return failure(*peer_.pending_error);
    if (peer_.receive_link == nullptr) peer_.receive_link = &link;
    if (peer_.receive_link == &link) return {};
    handler_error_ = Error({.kind = ErrorClass::kDamage,
                            .operation = "receive from another rank",
                            .cause = "it sent a message of kind " + std::to_string(header.kind) +
                                     " on a second connection"});
    return failure(*handler_error_);
  }

  Peer& peer_;
  MessageHandler& handler_;
  std::optional<Error> handler_error_;
};

Result<std::unique_ptr<MessageTransport>> MessageTransport::open(Communicator& ranks,
                                                                 const LinkOptions& options) {
  TransportSetup mine;
  if (Status agreed = ranks.agree(open_listeners(ranks, options, mine)); !agreed) {
    return failure(agreed.error());
  }
  std::unique_ptr<MessageTransport> transport(new MessageTransport(ranks, options));
  auto endpoints = exchange_endpoints(ranks, mine.listeners, mine.key);
  const Status initialized =
      endpoints ? transport->initialize(std::move(*endpoints), std::move(mine.listeners))
                : status_of(endpoints.error());
  if (Status agreed = ranks.agree(initialized); !agreed) return failure(agreed.error());
  return transport;
}

MessageTransport::MessageTransport(Communicator& ranks, const LinkOptions& options)
    : me_(ranks.rank()), size_(ranks.size()), options_(options), nodes_(ranks.nodes()) {}

MessageTransport::~MessageTransport() = default;

Status MessageTransport::initialize(EndpointTable endpoints, std::vector<TcpListener> listeners) {
  Connector::Setup setup{.me = me_,
                         .ranks = size_,
                         .key = endpoints.key,
                         .listeners = std::move(listeners),
                         .socket = options_.socket,
                         .timeout_ms = options_.connect_timeout_ms};
  endpoints_ = std::make_unique<const EndpointTable>(std::move(endpoints));
  auto connector = Connector::make(std::move(setup));
  if (!connector) return failure(connector.error());
  connector_ = std::move(*connector);
  events_ = Descriptor(::epoll_create1(EPOLL_CLOEXEC));
  if (!events_) return open_failure(errno);
  wakeup_ = Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  const bool is_watched = wakeup_ && watch(events_, wakeup_.get(), POLLIN, kWakeupKey) &&
                          watch(events_, connector_->descriptor(), POLLIN, kConnectorKey);
  if (!is_watched) return open_failure(errno);
  return {};
}

MessageTransport::Peer& MessageTransport::peer_at(Rank rank) {
  std::unique_ptr<Peer>& peer = peers_[rank.number];
  if (!peer) peer = std::make_unique<Peer>(Peer{.rank = rank});
  return *peer;
}

Status MessageTransport::check(Rank to, std::size_t payload_bytes) const {
  if (to.number >= size_) {
    return failure({.kind = ErrorClass::kInvalidArgument,
                    .operation = "send to rank " + std::to_string(to.number),
                    .cause = "only " + std::to_string(size_) + " ranks exist"});
  }
  const auto found = peers_.find(to.number);
  if (found != peers_.end() && found->second->unavailable_reason())
    return status_of(*found->second->unavailable_reason());
  return check_payload(payload_bytes, options_.limits, to);
}

Status MessageTransport::send(Rank to,
                              LinkHeader header,
                              std::span<const std::byte> payload,
                              Link::OnSent on_sent) {
  if (Status checked = check(to, payload.size()); !checked) {
    if (on_sent) on_sent(checked);
    return checked;
  }
  header.payload_bytes = checked_cast<std::uint32_t>(payload.size());
  OutgoingMessage message{header, payload, std::move(on_sent)};
  Peer& peer = peer_at(to);
  if (peer.send_link != nullptr) return send_by_link(peer, *peer.send_link, std::move(message));
  peer.enqueue(std::move(message));
  if (to == me_) {
    wake();
  } else if (!peer.is_connect_started) {
    peer.is_connect_started = true;
    connect(to);
  }
  return {};
}

Status MessageTransport::send(Rank to, LinkHeader header, Bytes payload) {
  const auto kept = std::make_shared<const Bytes>(std::move(payload));
  return send(to, header, *kept, [kept](const Status&) {});
}

Status MessageTransport::send_by_link(Peer& peer, Link& link, OutgoingMessage message) {
  Status sent = link.send(message.header, message.payload, std::move(message.on_sent));
  if (link.close_reason()) {
    schedule_close_check(peer);
  } else {
    update_interest(peer, link);
  }
  return sent;
}

/// Tries loopback first for a rank of this host: it is the fastest, but last among the addresses.
void MessageTransport::connect(Rank peer) {
  std::vector<SocketAddress> addresses = endpoints_->addresses_of(peer);
  if (nodes_.node_of(peer) == nodes_.node_of(me_)) {
    std::ranges::rotate(addresses, std::ranges::find_if(addresses, is_loopback));
  }
  connector_->connect(peer, std::move(addresses));
  if (connector_->next_deadline() == kDoNotBlock) wake();
}

std::optional<TimePoint> MessageTransport::next_deadline() const noexcept {
  std::optional<TimePoint> first = connector_->next_deadline();
  for (const Peer* peer : draining_)
    first = first ? std::min(*first, *peer->drain_deadline) : *peer->drain_deadline;
  return first;
}

std::uint64_t MessageTransport::queued_bytes() const noexcept {
  std::uint64_t bytes = 0;
  for (const auto& [rank, peer] : peers_) {
    bytes += peer->queued_bytes;
    for (const auto& link : peer->links)
      bytes += link ? link->queued_bytes() : 0;
  }
  return bytes;
}

void MessageTransport::close(Rank peer, Error why) {
  FOREBAY_ASSERT(peer.number < size_);
  drop_peer(peer_at(peer), std::move(why));
}

void MessageTransport::poll(MessageHandler& handler) {
  FOREBAY_ASSERT(!is_polling_);
  is_polling_ = true;
  clear_wakeup();
  deliver_to_self(handler);
  process_events(handler);
  const TimePoint now = SteadyClock::shared().now();
  for (Peer* peer : draining_) {
    if (*peer->drain_deadline <= now) schedule_close_check(*peer);
  }
  while (!closing_.empty()) {
    for (Peer* peer : std::exchange(closing_, {})) {
      peer->is_close_pending = false;
      check_closed(*peer, handler);
    }
  }
  is_polling_ = false;
}

void MessageTransport::process_events(MessageHandler& handler) {
  std::array<epoll_event, kEventsMax> events{};
  const int count = ::epoll_wait(events_.get(), events.data(), kEventsMax, 0);
  const std::optional<TimePoint> due = connector_->next_deadline();
  bool has_connects = due && *due <= SteadyClock::shared().now();
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events.at(static_cast<std::size_t>(i));
    const std::uint64_t key = event.data.u64;
    has_connects = has_connects || key == kConnectorKey;
    if (key >= kFirstLinkKey) process_link_events(key, checked_cast<short>(event.events), handler);
  }
  if (has_connects) process_connects();
}

void MessageTransport::deliver_to_self(MessageHandler& handler) {
  const auto found = peers_.find(me_.number);
  if (found == peers_.end()) return;
  Peer& own = *found->second;
  std::size_t count = own.queue.size();  // messages sent meanwhile wait for the next call
  std::uint64_t bytes = 0;
  while (count > 0 && bytes < kSelfBytesPerPollMax && !own.unavailable_reason()) {
    const OutgoingMessage message = own.dequeue();
    bytes += message.bytes();
    --count;
    if (const Status delivered = deliver(message, handler); !delivered)
      drop_peer(own, delivered.error());
  }
  if (!own.queue.empty()) wake();
}

/// Delivers to the own rank.
Status MessageTransport::deliver(const OutgoingMessage& message, MessageHandler& handler) {
  std::span<std::byte> buffer;
  if (!message.payload.empty()) {
    const Result<std::span<std::byte>> found = handler.payload_buffer(me_, message.header);
    if (!found) {
      message.report(status_of(found.error()));
      return status_of(found.error());
    }
    FOREBAY_ASSERT(found->empty() || found->size() == message.payload.size());
    buffer = *found;
  }
  if (!buffer.empty()) std::memcpy(buffer.data(), message.payload.data(), buffer.size());
  message.report(Status());
  return handler.handle_message(me_, message.header, buffer);
}

void MessageTransport::process_connects() {
  for (Connector::ConnectResult& outcome : connector_->poll()) {
    Peer& peer = peer_at(outcome.peer);
    const std::size_t link_index = outcome.initiator == Initiator::kSelf ? 0 : 1;
    if (outcome.socket) {
      add_connection(peer, link_index, std::move(*outcome.socket));
    } else if (peer.send_link == nullptr) {
      drop_peer(peer, outcome.socket.error());
    }
  }
}

/// Closes the connection instead if the peer is lost already.
void MessageTransport::add_connection(Peer& peer, std::size_t link_index, Descriptor socket) {
  if (peer.unavailable_reason() || peer.links.at(link_index)) return;
  if (!watch(events_, socket.get(), POLLIN, link_key(peer.rank, link_index))) {
    return drop_peer(peer,
                     system_error({.operation = "watch the connection to another rank"}, errno));
  }
  peer.interest.at(link_index) = POLLIN;
  peer.links.at(link_index) = std::make_unique<Link>(peer.rank, std::move(socket), options_.limits);
  if (peer.send_link != nullptr) return;
  peer.is_connect_started = true;  // no attempt is needed
  connector_->cancel(peer.rank);
  Link& link = *peer.links.at(link_index);
  // Messages sent inside on_sent are queued behind the others.
  while (!peer.queue.empty())
    std::ignore = send_by_link(peer, link, peer.dequeue());  // on_sent gets the Error
  peer.send_link = &link;
}

void MessageTransport::process_link_events(std::uint64_t key,
                                           short events,
                                           MessageHandler& handler) {
  const Rank rank{checked_cast<std::uint32_t>((key - kFirstLinkKey) / kLinksPerPeer)};
  Peer& peer = peer_at(rank);
  Link* const link = peer.links.at((key - kFirstLinkKey) % kLinksPerPeer).get();
  if (link == nullptr || link->close_reason() || peer.unavailable_reason()) return;
  PeerLinkHandler link_handler(peer, handler);
  const auto incoming = static_cast<short>(events & ~POLLOUT);
  // Read first: messages that have arrived may contain the reason why a write fails.
  if (incoming != 0) std::ignore = link->process_events(incoming, link_handler);
  if (!link->close_reason() && (events & POLLOUT) != 0)
    std::ignore = link->process_events(POLLOUT, link_handler);
  if (link_handler.handler_error()) return drop_peer(peer, *link_handler.handler_error());
  if (link->close_reason()) return schedule_close_check(peer);
  update_interest(peer, *link);
}

void MessageTransport::update_interest(Peer& peer, const Link& link) {
  const std::size_t link_index = &link == peer.links[0].get() ? 0 : 1;
  const short interest = link.interest();
  if (std::exchange(peer.interest.at(link_index), interest) == interest) return;
  epoll_event event{.events = static_cast<std::uint32_t>(interest),
                    .data = {.u64 = link_key(peer.rank, link_index)}};
  ::epoll_ctl(events_.get(), EPOLL_CTL_MOD, link.descriptor(), &event);
}

void MessageTransport::drop_peer(Peer& peer, Error why) {
  if (peer.unavailable_reason()) return;
  peer.pending_error = with_rank(why, peer.rank.number);
  schedule_close_check(peer);
}

void MessageTransport::schedule_close_check(Peer& peer) {
  if (std::exchange(peer.is_close_pending, true)) return;
  closing_.push_back(&peer);
  if (!is_polling_) wake();
}

/// A peer that closes its transport closes both connections. The other one may contain its last
/// messages, so it is read until it ends as well.
void MessageTransport::check_closed(Peer& peer, MessageHandler& handler) {
  if (peer.close_reason) return;
  if (peer.pending_error) return report_lost(peer, *peer.pending_error, handler);
  const Link* ended = nullptr;
  bool has_open_link = false;
  for (const auto& link : peer.links) {
    if (!link) continue;
    has_open_link = has_open_link || !link->close_reason();
    if (!link->close_reason()) continue;
    ended = link.get();
    ::epoll_ctl(events_.get(), EPOLL_CTL_DEL, link->descriptor(), nullptr);
  }
  if (ended == nullptr) return;
  const TimePoint now = SteadyClock::shared().now();
  const bool is_expired = peer.drain_deadline && *peer.drain_deadline <= now;
  const bool has_left = ended->close_reason()->kind() == ErrorClass::kClosed;
  if (!has_open_link || is_expired || !has_left)
    return report_lost(peer, *ended->close_reason(), handler);
  if (peer.drain_deadline) return;
  peer.drain_deadline = now + options_.socket.peer_timeout_ms;
  draining_.push_back(&peer);
}

void MessageTransport::report_lost(Peer& peer, const Error& why, MessageHandler& handler) {
  // `why` may be in one of these: keep them until all callbacks have run.
  const auto links = std::exchange(peer.links, {});
  peer.close_reason = why;
  peer.send_link = nullptr;
  std::erase(draining_, &peer);
  connector_->cancel(peer.rank);
  for (const std::unique_ptr<Link>& link : links)
    if (link) link->close(why);
  peer.queued_bytes = 0;
  for (const OutgoingMessage& message : std::exchange(peer.queue, {}))
    message.report(status_of(why));
  handler.handle_peer_lost(peer.rank, why);
}

void MessageTransport::wake() {
  if (std::exchange(is_wakeup_pending_, true)) return;
  const std::uint64_t one = 1;
  std::ignore = ::write(wakeup_.get(), &one, sizeof one);
}

void MessageTransport::clear_wakeup() {
  if (!std::exchange(is_wakeup_pending_, false)) return;
  std::uint64_t count = 0;
  std::ignore = ::read(wakeup_.get(), &count, sizeof count);
}

}  // namespace forebay::comm
