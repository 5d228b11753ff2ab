// SPDX-License-Identifier: Apache-2.0
// Listen, tell everybody where, meet, agree.
#include "comm/links.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <sys/random.h>

#include "base/assert.hpp"
#include "comm/meeting.hpp"

namespace forebay::comm {

namespace {

constexpr std::size_t kAddressesMax = 16;  ///< of one host; what is listed later is left out

/// What this rank brings to the exchange.
struct Preparation {
  std::vector<Listener> listeners;  ///< of an agent
  MeetingToken token;               ///< of rank 0
};

/// An address that cannot be listened at (one that is about to go, or to come) is none.
Result<std::vector<Listener>> listen_on(const LinkOptions& options) {
  Result<std::vector<Address>> addresses = local_addresses(options.network);
  if (!addresses) return tl::unexpected<Error>(addresses.error());
  addresses->resize(std::min(addresses->size(), kAddressesMax));
  std::vector<Listener> listeners;
  Status last;
  for (const Address& address : *addresses) {
    Result<Listener> listener = listen_at(address, options.socket);
    if (listener) {
      listeners.push_back(std::move(*listener));
    } else {
      last = tl::unexpected<Error>(listener.error());
    }
  }
  if (listeners.empty()) return tl::unexpected<Error>(last.error());
  return listeners;
}

Status fill_randomly(MeetingToken& token) {
  if (::getrandom(&token, sizeof token, 0) == sizeof token) return {};
  return tl::unexpected<Error>(system_error({.operation = "draw a random token"}, errno));
}

Status prepare(const LinkOptions& options, Rank me, bool is_agent, Preparation& mine) {
  if (me == Rank{0}) {
    if (Status drawn = fill_randomly(mine.token); !drawn) return drawn;
  }
  if (!is_agent) return {};
  Result<std::vector<Listener>> listeners = listen_on(options);
  if (!listeners) return tl::unexpected<Error>(listeners.error());
  mine.listeners = std::move(*listeners);
  return {};
}

Bytes addresses_of(const std::vector<Listener>& listeners) {
  Bytes bytes;
  for (const Listener& listener : listeners) {
    const auto one = std::as_bytes(std::span(&listener.address, 1));
    bytes.insert(bytes.end(), one.begin(), one.end());
  }
  return bytes;
}

std::vector<Address> addresses_from(const Bytes& bytes) {
  std::vector<Address> addresses(bytes.size() / sizeof(Address));
  if (!bytes.empty()) std::memcpy(addresses.data(), bytes.data(), bytes.size());
  return addresses;
}

/// Collective: the meeting that all are told of.
Result<Meeting> arrange(Communicator& ranks, std::span<const Rank> agents, Preparation& mine) {
  const Status told = ranks.broadcast(std::as_writable_bytes(std::span(&mine.token, 1)), Rank{0});
  const Result<std::vector<Bytes>> addresses = ranks.all_gather(addresses_of(mine.listeners));
  if (!told) return tl::unexpected<Error>(told.error());
  if (!addresses) return tl::unexpected<Error>(addresses.error());
  Meeting meeting{.me = ranks.rank(), .token = mine.token};
  for (const Rank agent : agents) {
    if (agent == ranks.rank()) continue;
    meeting.peers.push_back({agent, addresses_from(addresses->at(agent.number))});
  }
  return meeting;
}

Result<Links> connect(Meeting meeting, const LinkOptions& options, const Preparation& mine) {
  meeting.socket = options.socket;
  meeting.limit_ms = options.connect_ms_max;
  Result<std::vector<Descriptor>> sockets = meet(meeting, mine.listeners);
  if (!sockets) return tl::unexpected<Error>(sockets.error());
  Links links;
  for (std::size_t i = 0; i < sockets->size(); ++i) {
    links.push_back(
        std::make_unique<Link>(meeting.peers[i].rank, std::move(sockets->at(i)), options.limits));
  }
  return links;
}

Status status_of(const Result<Links>& links) {
  if (links) return {};
  return tl::unexpected<Error>(links.error());
}

}  // namespace

Result<Links> connect_agents(Communicator& ranks,
                             std::span<const Rank> agents,
                             const LinkOptions& options) {
  FOREBAY_ASSERT(std::ranges::is_sorted(agents));
  if (agents.size() < 2) return Links();
  const bool is_agent = std::ranges::find(agents, ranks.rank()) != agents.end();
  Preparation mine;
  if (Status all = ranks.agree(prepare(options, ranks.rank(), is_agent, mine)); !all) {
    return tl::unexpected<Error>(all.error());
  }
  Result<Links> links;
  Result<Meeting> meeting = arrange(ranks, agents, mine);
  if (!meeting) {
    links = tl::unexpected<Error>(meeting.error());
  } else if (is_agent) {
    links = connect(std::move(*meeting), options, mine);
  }
  if (Status all = ranks.agree(status_of(links)); !all) return tl::unexpected<Error>(all.error());
  return links;
}

}  // namespace forebay::comm
