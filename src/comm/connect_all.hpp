// SPDX-License-Identifier: Apache-2.0
// connect_all(): connects each pair of agents by one socket on which both have authenticated each
// other (handshake.hpp). The agents already have each other's addresses.
#pragma once

#include <forebay/error.hpp>

#include <chrono>
#include <vector>

#include "comm/handshake.hpp"
#include "comm/nodes.hpp"
#include "comm/socket.hpp"

namespace forebay::comm {

struct MeshPeer {
  Rank rank;
  std::vector<SocketAddress> addresses;  ///< tried in this order, repeatedly; not empty
};

struct MeshSetup {
  Rank me;
  SharedKey key = {};
  std::vector<MeshPeer> peers;  ///< this rank connects to those of lower rank; the others connect
                                ///< to it
  SocketOptions socket = {};
  std::chrono::milliseconds timeout_ms{30'000};
};

/// Blocks until a socket to each peer is connected; returns the sockets in the order of
/// `setup.peers`. If the timeout passes first, the Error names a peer without a connection, and the
/// cause. All peers call this at about the same time. `listeners` listen at the addresses that the
/// peers have for this rank.
Result<std::vector<Descriptor>> connect_all(const MeshSetup& setup,
                                            const std::vector<TcpListener>& listeners);

}  // namespace forebay::comm
