// SPDX-License-Identifier: Apache-2.0
// Connector: opens and accepts connections to single ranks, on demand and without blocking. It
// exists as long as the MessageTransport of the rank; connect_all() blocks until a whole group is
// connected. Attempts time out, and unauthenticated connections are dropped; neither delays other
// ranks.
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
    std::uint32_t ranks = 1;  ///< number of ranks of the transport
    SharedKey key = {};
    std::vector<TcpListener> listeners;  ///< at the addresses that other ranks have for this rank
    SocketOptions socket = {};
    std::chrono::milliseconds timeout_ms{30'000};  ///< for each outgoing connection
  };

  /// A connected socket on which the handshake is complete, or the Error of connecting to `peer`.
  struct ConnectResult {
    Rank peer;
    Initiator initiator = Initiator::kSelf;
    Result<Descriptor> socket;
  };

  static Result<std::unique_ptr<Connector>> make(Setup setup);

  /// Readable when poll() has something to do; an epoll descriptor.
  int descriptor() const noexcept { return events_.get(); }
  /// Time at which poll() must be called even if the descriptor is not readable. Changes in the
  /// calls below only.
  std::optional<TimePoint> next_deadline() const noexcept { return next_deadline_; }

  /// Starts to connect to `peer`, to which no outgoing connection is in progress. Tries `addresses`
  /// (not empty) in rotation until the handshake succeeds at one or the timeout has passed. A later
  /// poll() returns the outcome, unless it is canceled. Fails before the timeout if each address
  /// has refused connections twice in a row, or if no descriptor is left.
  void connect(Rank peer, std::vector<SocketAddress> addresses);
  /// Ends an outgoing connection in progress, if any; poll() returns no outcome for it.
  void cancel(Rank peer);

  /// Advances all pending connections. Returns outgoing ones that have completed or failed, and
  /// accepted ones that have completed. A peer may be connected twice, once by each side.
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
  void watch_listeners(std::uint32_t events);

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
