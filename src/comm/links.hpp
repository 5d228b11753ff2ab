// SPDX-License-Identifier: Apache-2.0
// connect_agents(): connects the agents of all nodes with each other, once, when a Runtime is
// created. The ranks exchange addresses through their Communicator. Agents then wait for messages
// on links, because MPI has no call in which a thread can sleep.
#pragma once

#include <forebay/error.hpp>

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/link.hpp"
#include "comm/socket.hpp"

namespace forebay::comm {

struct LinkOptions {
  /// Name of an interface, or an address, by which others reach this host. Empty: all addresses of
  /// the host are tried. If all ranks share one node, loopback alone is used instead.
  std::string network = {};
  /// connect_agents(): for all connections together. MessageTransport: for each connection.
  std::chrono::milliseconds connect_timeout_ms{30'000};
  SocketOptions socket = {};
  LinkLimits limits = {};
};

/// One link for each other agent, in the order of their ranks.
using Links = std::vector<std::unique_ptr<Link>>;

/// Collective over all ranks; blocks until all agents are connected. `agents` are the ranks that
/// have an agent: the same on all ranks, in increasing order. The options matter on agents only and
/// may differ. Ranks that are not agents take part in the exchange and get no links. If ranks fail,
/// all get the Error of the lowest rank that failed; Error::rank() is that rank.
///
/// Both ends of each connection prove that they hold the key of this call, so only its ranks can
/// connect (handshake.hpp). The key is sent through `ranks` alone. Messages are neither
/// encrypted nor signed.
Result<Links> connect_agents(Communicator& ranks,
                             std::span<const Rank> agents,
                             const LinkOptions& options);

}  // namespace forebay::comm
