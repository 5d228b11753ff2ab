// SPDX-License-Identifier: Apache-2.0
// connect_agents(): connects the agents of all nodes with each other, once, when a program starts.
// The ranks' Communicator carries the addresses. Later the agents need no Communicator, as MPI has
// no call in which a thread can sleep.
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
  /// the host are tried. If all ranks share one node, loopback alone is used.
  std::string network = {};
  std::chrono::milliseconds connect_timeout_ms{30'000};  ///< for all connections together
  SocketOptions socket = {};
  LinkLimits limits = {};
};

/// One for each other agent, in the order of their ranks.
using Links = std::vector<std::unique_ptr<Link>>;

/// Collective over all ranks; blocks until all agents are connected. `agents` is the same on all
/// ranks, in increasing order. The options matter on agents only and may differ. Ranks that are not
/// agents take part in the exchange and get no links. If one rank fails, all get the Error of the
/// first, with its rank.
///
/// Only ranks of this job can take part: both ends of each connection prove that they hold the key
/// of this job, which is sent through `ranks` alone (handshake.hpp). Later bytes are neither
/// encrypted nor signed.
Result<Links> connect_agents(Communicator& ranks,
                             std::span<const Rank> agents,
                             const LinkOptions& options);

}  // namespace forebay::comm
