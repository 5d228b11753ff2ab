// SPDX-License-Identifier: Apache-2.0
// Each rank connects to those of lower rank, with retries, and accepts the others.
#include "comm/connect_all.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <list>
#include <optional>
#include <span>
#include <string>

#include <poll.h>

#include "base/assert.hpp"
#include "base/clock.hpp"
#include "base/sleep_until_ready.hpp"

namespace forebay::comm {

namespace {

/// Limit of accepted connections that are not authenticated, in addition to two for each peer.
constexpr std::size_t kUnauthenticatedMax = 64;

/// A connection in progress, outgoing or accepted.
struct PendingConnection {
  Descriptor socket;
  TimePoint deadline;  ///< dropped at this time
  Handshake handshake;
  std::optional<std::size_t> peer = {};  ///< index; an accepted connection has none until it is
                                         ///< authenticated
  bool is_outgoing = false;              ///< started by this rank
  bool is_connected = true;
};

/// State of a peer.
struct PeerState {
  Descriptor socket;  ///< set once it is connected
  std::size_t next_address = 0;
  TimePoint next_attempt;
  bool is_connecting = false;  ///< an outgoing connection is in progress
  std::string failure_reason = {};
};

enum class Outcome : std::uint8_t { kPending, kConnected, kClosed };

class MeshConnector {
 public:
  MeshConnector(const MeshSetup& setup, const std::vector<TcpListener>& listeners)
      : setup_(setup), listeners_(listeners), peers_(setup.peers.size()) {}

  Result<std::vector<Descriptor>> run();

 private:
  bool connects_to(std::size_t peer) const { return setup_.peers[peer].rank < setup_.me; }
  void start_due_attempts(TimePoint now);
  void start_attempt(std::size_t peer, TimePoint now);
  void wait(TimePoint now);
  void process_events();
  void accept_connections(const TcpListener& listener);
  void drop_oldest_unauthenticated();
  bool accepts(Rank from) const;
  std::optional<std::size_t> index_of(Rank rank) const;
  std::list<PendingConnection>::iterator apply(std::list<PendingConnection>::iterator connection,
                                               Outcome outcome);
  Outcome advance(PendingConnection& connection);
  Outcome outcome_of(PendingConnection& connection, Handshake::State state);
  void record_failure(PendingConnection& connection, const std::string& cause);
  void drop_expired(TimePoint now);
  Error timeout_error() const;

  const MeshSetup& setup_;
  const std::vector<TcpListener>& listeners_;
  std::vector<PeerState> peers_;
  std::size_t connected_count_ = 0;
  std::list<PendingConnection> pending_;
  std::vector<pollfd> entries_;  ///< of the listeners, then of the connections
  TimePoint deadline_;
};

Result<std::vector<Descriptor>> MeshConnector::run() {
  deadline_ = SteadyClock::shared().now() + setup_.timeout_ms;
  while (connected_count_ < peers_.size()) {
    const TimePoint now = SteadyClock::shared().now();
    if (now >= deadline_) return failure(timeout_error());
    drop_expired(now);
    start_due_attempts(now);
    wait(now);
    process_events();
  }
  std::vector<Descriptor> sockets;
  for (PeerState& peer : peers_)
    sockets.push_back(std::move(peer.socket));
  return sockets;
}

void MeshConnector::start_due_attempts(TimePoint now) {
  for (std::size_t peer = 0; peer < peers_.size(); ++peer) {
    const PeerState& peer_state = peers_[peer];
    const bool is_due =
        !peer_state.socket && !peer_state.is_connecting && peer_state.next_attempt <= now;
    if (connects_to(peer) && is_due) start_attempt(peer, now);
  }
}

void MeshConnector::start_attempt(std::size_t peer, TimePoint now) {
  PeerState& peer_state = peers_[peer];
  const std::vector<SocketAddress>& addresses = setup_.peers[peer].addresses;
  FOREBAY_ASSERT(!addresses.empty());
  const SocketAddress& address = addresses[peer_state.next_address];
  peer_state.next_address = (peer_state.next_address + 1) % addresses.size();
  peer_state.next_attempt = peer_state.next_address == 0 ? now + kRetryDelay : now;
  Result<Descriptor> socket = start_connect(address, setup_.socket);
  if (!socket) {
    peer_state.failure_reason = socket.error().message();
    return;
  }
  peer_state.failure_reason = "no answer from " + text_of(address);
  const auto limit = connect_attempt_timeout(addresses.size(), setup_.timeout_ms);
  peer_state.is_connecting = true;
  pending_.push_back(
      {.socket = std::move(*socket),
       .deadline = now + limit,
       .handshake = Handshake::make_client(setup_.key, setup_.me, setup_.peers[peer].rank),
       .peer = peer,
       .is_outgoing = true,
       .is_connected = false});
}

/// Sleeps until an event on a socket, or until the next deadline.
void MeshConnector::wait(TimePoint now) {
  TimePoint until = deadline_;
  entries_.clear();
  for (const TcpListener& listener : listeners_)
    entries_.push_back({listener.socket.get(), POLLIN, 0});
  for (const PendingConnection& connection : pending_) {
    const bool is_connect_pending = connection.is_outgoing && !connection.is_connected;
    const short events = is_connect_pending ? POLLOUT : POLLIN;
    entries_.push_back({connection.socket.get(), events, 0});
    until = std::min(until, connection.deadline);
  }
  for (std::size_t peer = 0; peer < peers_.size(); ++peer) {
    const PeerState& peer_state = peers_[peer];
    const bool is_idle = connects_to(peer) && !peer_state.socket && !peer_state.is_connecting;
    if (is_idle) until = std::min(until, peer_state.next_attempt);
  }
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - now);
  sleep_until_ready(entries_, left);
}

void MeshConnector::process_events() {
  const TimePoint now = SteadyClock::shared().now();
  auto entry = entries_.begin() + static_cast<std::ptrdiff_t>(listeners_.size());
  for (auto connection = pending_.begin(); connection != pending_.end(); ++entry) {
    // Send no proof after the deadline: the other side may have dropped the connection.
    const bool is_expired = connection->is_outgoing && connection->deadline <= now;
    const bool is_idle = entry->revents == 0 || is_expired;
    const Outcome outcome = is_idle ? Outcome::kPending : advance(*connection);
    connection = apply(connection, outcome);
  }
  for (std::size_t i = 0; i < listeners_.size(); ++i) {
    if (entries_[i].revents != 0) accept_connections(listeners_[i]);
  }
}

/// Removes the connection if it has ended. Returns the next connection.
std::list<PendingConnection>::iterator MeshConnector::apply(
    std::list<PendingConnection>::iterator connection, Outcome outcome) {
  if (outcome == Outcome::kPending) return std::next(connection);
  if (outcome == Outcome::kConnected) {
    peers_[*connection->peer].socket = std::move(connection->socket);
    ++connected_count_;
  }
  return pending_.erase(connection);
}

void MeshConnector::accept_connections(const TcpListener& listener) {
  Descriptor socket = accept_connection(listener, setup_.socket);
  if (!socket) return;
  const auto is_incoming = [](const PendingConnection& connection) {
    return !connection.is_outgoing;
  };
  const auto unauthenticated =
      static_cast<std::size_t>(std::ranges::count_if(pending_, is_incoming));
  if (unauthenticated >= kUnauthenticatedMax + 2 * peers_.size()) drop_oldest_unauthenticated();
  pending_.push_back({.socket = std::move(socket),
                      .deadline = SteadyClock::shared().now() + kHandshakeTimeoutMax,
                      .handshake = Handshake::make_server(setup_.key, setup_.me)});
}

/// Drops the oldest accepted connection, preferably one without hello. Reads its pending messages
/// first: if a proof has arrived, the peer already uses the connection, so it is kept.
void MeshConnector::drop_oldest_unauthenticated() {
  const auto is_unidentified = [](const PendingConnection& connection) {
    return !connection.is_outgoing && !connection.handshake.peer();
  };
  const auto is_incoming = [](const PendingConnection& connection) {
    return !connection.is_outgoing;
  };
  auto oldest = std::ranges::find_if(pending_, is_unidentified);
  if (oldest == pending_.end()) oldest = std::ranges::find_if(pending_, is_incoming);
  const Outcome outcome = advance(*oldest);
  apply(oldest, outcome == Outcome::kConnected ? outcome : Outcome::kClosed);
}

Outcome MeshConnector::advance(PendingConnection& connection) {
  if (connection.is_connected) {
    return outcome_of(connection,
                      connection.handshake.advance(connection.socket,
                                                   [this](Rank from) { return accepts(from); }));
  }
  if (const int error_number = connect_errno(connection.socket); error_number != 0) {
    const Error error = system_error({.operation = "connect"}, error_number);
    record_failure(connection, peers_[*connection.peer].failure_reason + ": " + error.message());
    return Outcome::kClosed;
  }
  connection.is_connected = true;
  return outcome_of(connection, connection.handshake.begin(connection.socket));
}

Outcome MeshConnector::outcome_of(PendingConnection& connection, Handshake::State state) {
  if (state == Handshake::State::kInProgress) return Outcome::kPending;
  if (state == Handshake::State::kFailed) {
    record_failure(connection, connection.handshake.failure_reason());
    return Outcome::kClosed;
  }
  connection.peer = index_of(*connection.handshake.peer());
  return peers_[*connection.peer].socket ? Outcome::kClosed : Outcome::kConnected;
}

std::optional<std::size_t> MeshConnector::index_of(Rank rank) const {
  const auto found = std::ranges::find(setup_.peers, rank, &MeshPeer::rank);
  if (found == setup_.peers.end()) return std::nullopt;
  return static_cast<std::size_t>(found - setup_.peers.begin());
}

/// True for peers of higher rank: only they connect to this rank.
bool MeshConnector::accepts(Rank from) const {
  return from > setup_.me && index_of(from).has_value();
}

/// Records why an outgoing connection failed. start_due_attempts() tries the next address.
void MeshConnector::record_failure(PendingConnection& connection, const std::string& cause) {
  if (!connection.is_outgoing) return;
  PeerState& peer = peers_[*connection.peer];
  peer.is_connecting = false;
  peer.failure_reason = cause;
}

void MeshConnector::drop_expired(TimePoint now) {
  for (PendingConnection& connection : pending_) {
    if (connection.deadline <= now && connection.is_outgoing)
      record_failure(connection, peers_[*connection.peer].failure_reason);
  }
  pending_.remove_if(
      [now](const PendingConnection& connection) { return connection.deadline <= now; });
}

Error MeshConnector::timeout_error() const {
  const auto missing = std::ranges::find_if(peers_, [](const PeerState& p) { return !p.socket; });
  const auto peer = static_cast<std::size_t>(missing - peers_.begin());
  const std::string name = "rank " + std::to_string(setup_.peers[peer].rank.number);
  const std::string cause = connects_to(peer)
                                ? "cannot reach " + name + ": " + missing->failure_reason
                                : name + " did not connect";
  return system_error({.operation = "connect the agents of all nodes", .cause = cause}, ETIMEDOUT);
}

}  // namespace

Result<std::vector<Descriptor>> connect_all(const MeshSetup& setup,
                                            const std::vector<TcpListener>& listeners) {
  return MeshConnector(setup, listeners).run();
}

}  // namespace forebay::comm
