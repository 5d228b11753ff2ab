// SPDX-License-Identifier: Apache-2.0
// Where the ranks of a job can be called, and which key they share. The ranks'
// Communicator carries this once; whoever makes connections afterwards needs it no more.
#pragma once

#include <forebay/error.hpp>

#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/handshake.hpp"
#include "comm/nodes.hpp"
#include "comm/socket.hpp"

namespace forebay::comm {

/// What a rank brings to the exchange, and what it gets: a few dozen bytes for each rank.
struct Whereabouts {
  JobKey key = {};
  std::vector<Bytes> packed_addresses;  ///< by rank; empty for one that does not listen

  std::vector<Address> addresses_of(Rank rank) const;
};

/// Sockets at all addresses that `network` stands for (see local_addresses()), the first few of
/// them if it has many; where all ranks share one node, at its loopback addresses alone. An address
/// that cannot be listened at (one that is about to go, or to come) is none; fails if there is no
/// other.
Result<std::vector<Listener>> listen_on(const std::string& network,
                                        const SocketOptions& options,
                                        const Nodes& nodes);

/// Collective: all ranks receive the addresses at which each listens, and the key of rank 0. `mine`
/// is empty on a rank that does not listen. May fail on some ranks only.
Result<Whereabouts> exchange_whereabouts(Communicator& ranks,
                                         const std::vector<Listener>& mine,
                                         const JobKey& key);

}  // namespace forebay::comm
