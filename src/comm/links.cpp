// SPDX-License-Identifier: Apache-2.0
// Listen, tell everybody where, meet, agree.
#include "comm/links.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "comm/meeting.hpp"
#include "comm/whereabouts.hpp"

namespace forebay::comm {

namespace {

/// What this rank brings to the exchange.
struct Preparation {
  std::vector<Listener> listeners;  ///< of an agent
  JobKey key = {};                  ///< of rank 0
};

Status prepare(const LinkOptions& options,
               const Communicator& ranks,
               bool is_agent,
               Preparation& mine) {
  if (ranks.rank() == Rank{0}) {
    const Result<JobKey> key = draw_job_key();
    if (!key) return failure(key.error());
    mine.key = *key;
  }
  if (!is_agent) return {};
  Result<std::vector<Listener>> listeners =
      listen_on(options.network, options.socket, ranks.nodes());
  if (!listeners) return failure(listeners.error());
  mine.listeners = std::move(*listeners);
  return {};
}

/// Collective: the meeting that all are told of.
Result<Meeting> arrange(Communicator& ranks, std::span<const Rank> agents, Preparation& mine) {
  const auto whereabouts = exchange_whereabouts(ranks, mine.listeners, mine.key);
  if (!whereabouts) return failure(whereabouts.error());
  Meeting meeting{.me = ranks.rank(), .key = whereabouts->key};
  for (const Rank agent : agents) {
    if (agent == ranks.rank()) continue;
    meeting.peers.push_back({agent, whereabouts->addresses_of(agent)});
  }
  return meeting;
}

Result<Links> connect(Meeting meeting, const LinkOptions& options, const Preparation& mine) {
  meeting.socket = options.socket;
  meeting.limit_ms = options.connect_ms_max;
  Result<std::vector<Descriptor>> sockets = meet(meeting, mine.listeners);
  if (!sockets) return failure(sockets.error());
  Links links;
  for (std::size_t i = 0; i < sockets->size(); ++i) {
    links.push_back(
        std::make_unique<Link>(meeting.peers[i].rank, std::move(sockets->at(i)), options.limits));
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
  Preparation mine;
  if (Status all = ranks.agree(prepare(options, ranks, is_agent, mine)); !all) {
    return failure(all.error());
  }
  Result<Links> links;
  Result<Meeting> meeting = arrange(ranks, agents, mine);
  if (!meeting) {
    links = failure(meeting.error());
  } else if (is_agent) {
    links = connect(std::move(*meeting), options, mine);
  }
  if (Status all = ranks.agree(status_of(links)); !all) return failure(all.error());
  return links;
}

}  // namespace forebay::comm
