// SPDX-License-Identifier: Apache-2.0
// Listens, exchanges the addresses, connects, agrees.
#include "comm/links.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "comm/connect_all.hpp"
#include "comm/endpoint_table.hpp"

namespace forebay::comm {

namespace {

/// Contribution of this rank to the exchange.
struct ListenState {
  std::vector<TcpListener> listeners;  ///< of an agent
  SharedKey key = {};                  ///< of rank 0
};

Status open_listeners(const LinkOptions& options,
                      const Communicator& ranks,
                      bool is_agent,
                      ListenState& mine) {
  if (ranks.rank() == Rank{0}) {
    const Result<SharedKey> key = generate_shared_key();
    if (!key) return failure(key.error());
    mine.key = *key;
  }
  if (!is_agent) return {};
  Result<std::vector<TcpListener>> listeners =
      listen_on(options.network, options.socket, ranks.nodes());
  if (!listeners) return failure(listeners.error());
  mine.listeners = std::move(*listeners);
  return {};
}

/// Collective: the setup of connect_all(), from the addresses of all ranks.
Result<MeshSetup> exchange_setup(Communicator& ranks,
                                 std::span<const Rank> agents,
                                 ListenState& mine) {
  const auto endpoints = exchange_endpoints(ranks, mine.listeners, mine.key);
  if (!endpoints) return failure(endpoints.error());
  MeshSetup setup{.me = ranks.rank(), .key = endpoints->key};
  for (const Rank agent : agents) {
    if (agent == ranks.rank()) continue;
    setup.peers.push_back({agent, endpoints->addresses_of(agent)});
  }
  return setup;
}

Result<Links> connect(MeshSetup setup, const LinkOptions& options, const ListenState& mine) {
  setup.socket = options.socket;
  setup.timeout_ms = options.connect_timeout_ms;
  Result<std::vector<Descriptor>> sockets = connect_all(setup, mine.listeners);
  if (!sockets) return failure(sockets.error());
  Links links;
  for (std::size_t i = 0; i < sockets->size(); ++i) {
    links.push_back(
        std::make_unique<Link>(setup.peers[i].rank, std::move(sockets->at(i)), options.limits));
  }
  return links;
}

Status status_of(const Result<Links>& links) {
  if (links) return {};
  return failure(links.error());
}

}  // namespace

Result<Links> connect_agents(Communicator& ranks,
                             std::span<const Rank> agents,
                             const LinkOptions& options) {
  FOREBAY_ASSERT(std::ranges::is_sorted(agents));
  if (agents.size() < 2) return Links();
  const bool is_agent = std::ranges::find(agents, ranks.rank()) != agents.end();
  ListenState mine;
  if (Status agreed = ranks.agree(open_listeners(options, ranks, is_agent, mine)); !agreed) {
    return failure(agreed.error());
  }
  Result<Links> links;
  Result<MeshSetup> setup = exchange_setup(ranks, agents, mine);
  if (!setup) {
    links = failure(setup.error());
  } else if (is_agent) {
    links = connect(std::move(*setup), options, mine);
  }
  if (Status agreed = ranks.agree(status_of(links)); !agreed) return failure(agreed.error());
  return links;
}

}  // namespace forebay::comm
