// SPDX-License-Identifier: Apache-2.0
// EndpointTable: the addresses of all ranks of a Communicator, and the shared key. The ranks
// exchange it once, through their Communicator. Connections made later need no Communicator.
#pragma once

#include <forebay/error.hpp>

#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/handshake.hpp"
#include "comm/nodes.hpp"
#include "comm/socket.hpp"

namespace forebay::comm {

/// Result of the exchange: a few dozen bytes for each rank.
struct EndpointTable {
  SharedKey key = {};
  std::vector<Bytes> packed_addresses;  ///< by rank; empty for a rank that does not listen

  std::vector<SocketAddress> addresses_of(Rank rank) const;
};

/// Creates listening sockets at the addresses of `network` (see local_addresses()), at most 16. If
/// all ranks share one node, at its loopback addresses instead, if it has any. Skips addresses at
/// which it cannot listen (one that is being removed or added); fails if none is left.
Result<std::vector<TcpListener>> listen_on(const std::string& network,
                                           const SocketOptions& options,
                                           const Nodes& nodes);

/// Collective. All ranks receive the listening addresses of each rank, and the key of rank 0.
/// `mine` is empty on a rank that does not listen; `key` matters on rank 0 only. May fail on some
/// ranks only.
Result<EndpointTable> exchange_endpoints(Communicator& ranks,
                                         const std::vector<TcpListener>& mine,
                                         const SharedKey& key);

}  // namespace forebay::comm
