// SPDX-License-Identifier: Apache-2.0
// Connects the agents of all nodes with each other, once, when a program starts. The ranks'
// Communicator carries the addresses; afterwards agents talk without it, as MPI has nothing that
// one could sleep on.
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
  /// Name of an interface, or an address, that others reach this host by. Empty: all addresses of
  /// the host are tried. Where all ranks share one node, loopback alone is used.
  std::string network = {};
  std::chrono::milliseconds connect_ms_max{30'000};  ///< for all connections together
  SocketOptions socket = {};
  LinkLimits limits = {};
};

/// One for each other agent, in the order of their ranks.
using Links = std::vector<std::unique_ptr<Link>>;

/// Collective, by all ranks; blocks until all agents are connected. `agents` is the same on all
/// ranks, in rising order; the options are of use to agents alone and may differ. Ranks that are no
/// agents take part in the exchange and get no links. Where one fails, all get the Error of the
/// first, with its rank.
///
/// Only ranks of this job can take part: both ends of each connection prove that they hold a key of
/// this job, which travels over `ranks` alone (handshake.hpp). The bytes that follow are neither
/// encrypted nor signed.
Result<Links> connect_agents(Communicator& ranks,
                             std::span<const Rank> agents,
                             const LinkOptions& options);

}  // namespace forebay::comm
