// SPDX-License-Identifier: Apache-2.0
// Connector: non-blocking connections to single ranks, on demand. connect_all() connects all of a
// group at once and blocks; a Connector works as long as the ranks exchange messages. Attempts time
// out and unauthenticated connections are dropped; neither delays other ranks.
#pragma once

#include <forebay/error.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.hpp"
#include "base/descriptor.hpp"
#include "comm/handshake.hpp"
#include "comm/nodes.hpp"
#include "comm/socket.hpp"

namespace forebay::comm {

enum class Initiator : std::uint8_t { kSelf, kPeer };

/// Belongs to one thread at a time. Never blocks.
class Connector {
 public:
  struct Setup {
    Rank me;
    std::uint32_t ranks = 1;
    JobKey key = {};
    std::vector<TcpListener> listeners;  ///< listen at the addresses that other ranks use for this
                                         ///< rank
    SocketOptions socket = {};
    std::chrono::milliseconds timeout_ms{30'000};  ///< for each outgoing connection
  };

  /// A peer is connected, and both sides have counted it; or connecting to it has failed.
  struct ConnectResult {
    Rank peer;
    Initiator initiator = Initiator::kSelf;
    Result<Descriptor> socket;
  };

  static Result<std::unique_ptr<Connector>> make(Setup setup);

  /// Readable when poll() has something to do; an epoll descriptor.
  int descriptor() const noexcept { return events_.get(); }
  /// When poll() must be called even if the descriptor is not readable. Changes in the calls below.
  std::optional<TimePoint> next_deadline() const noexcept { return next_deadline_; }

  /// Connects to a peer that is not being connected. Tries these addresses (not empty) in rotation
  /// until one answers or the timeout has passed. A later poll() returns the outcome, unless it is
  /// canceled. If all addresses refuse connections, or no descriptor is left, the next poll()
  /// returns the failure.
  void connect(Rank peer, std::vector<SocketAddress> addresses);
  void cancel(Rank peer);

  /// Advances all pending connections, and returns those that have completed or failed. The same
  /// peer may be connected twice, once by each side.
  std::vector<ConnectResult> poll();

 private:
  /// A connection in progress.
  struct PendingConnection {
    Descriptor socket;
    TimePoint deadline;  ///< dropped at this time
    Handshake handshake;
    Initiator initiator = Initiator::kPeer;
    bool is_connected = true;

    Rank peer() const { return *handshake.peer(); }
  };
  using PendingConnections = std::map<std::uint64_t, PendingConnection>;  ///< by key, so by age

  /// A peer to which this rank connects.
  struct ConnectTarget {
    std::vector<SocketAddress> addresses;
    TimePoint deadline;
    TimePoint next_attempt;
    std::optional<std::uint64_t> pending_key = {};  ///< the attempt in progress
    std::size_t attempts = 0;
    std::size_t consecutive_refusals = 0;  ///< attempts in a row that found no listener
    std::string failure_reason = {};
  };

  explicit Connector(Setup setup) : setup_(std::move(setup)) {}
  Status open();
  bool watch(const Descriptor& socket, std::uint32_t events, std::uint64_t key, int operation);
  void listen(std::uint32_t events);

  void start_due_attempts(TimePoint now);
  void try_next_address(Rank peer, TimePoint now);
  void handle_failed_attempt(Rank peer, int error_number, const std::string& cause);
  bool is_exhausted(const ConnectTarget& target, TimePoint now) const;
  void fail(Rank peer, ErrorDetails details);

  void accept_connections(const TcpListener& listener, TimePoint now);
  void add_incoming(Descriptor socket, TimePoint now);
  bool recover_from_accept_error(TimePoint now);
  void drop_oldest_unauthenticated(TimePoint now);

  void process_connection(PendingConnections::iterator connection, TimePoint now);
  void start_handshake(PendingConnections::iterator connection);
  void handle_state(PendingConnections::iterator connection, Handshake::State state);
  void complete_connection(PendingConnections::iterator connection);
  void abort_connection(PendingConnections::iterator connection,
                        int error_number,
                        std::string cause);
  void drop_expired(TimePoint now);
  void update_deadline();

  Setup setup_;
  Descriptor events_;
  std::optional<TimePoint> next_deadline_;
  std::optional<TimePoint> accept_paused_until_;  ///< no descriptor was left to accept a connection
  PendingConnections pending_;
  std::size_t unauthenticated_ = 0;  ///< accepted connections that are not authenticated yet
  std::uint64_t next_key_ = 0;
  std::unordered_map<std::uint32_t, ConnectTarget> targets_;  ///< by rank
  std::vector<ConnectResult> results_;
};

}  // namespace forebay::comm
