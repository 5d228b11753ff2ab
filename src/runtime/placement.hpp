// SPDX-License-Identifier: Apache-2.0
// Who reads for whom: which rank of each node has its agent, and whether that rank computes as
// well. A pure function of what all ranks know alike, so that all decide the same without a word
// between them.
#pragma once

#include <forebay/runtime.hpp>

#include <cstdint>
#include <vector>

#include "comm/nodes.hpp"

namespace forebay {

/// What the ranks of one node are there for.
struct NodePlaces {
  comm::Rank agent;                     ///< has the node's agent
  Role role_of_agent = Role::kCompute;  ///< kAgent: it does nothing else
  std::uint32_t computing = 0;          ///< ranks that compute there; never 0

  Role role_of(comm::Rank rank) const noexcept {
    return rank == agent ? role_of_agent : Role::kCompute;
  }
  /// Ranks that share the agent, its own included.
  std::uint32_t sharing() const noexcept {
    return computing + (role_of_agent == Role::kAgent ? 1 : 0);
  }

  friend bool operator==(const NodePlaces&, const NodePlaces&) noexcept = default;
};

/// By node. Rank 0 always computes; a node of one rank keeps its agent in that rank.
std::vector<NodePlaces> place_agents(const comm::Nodes& nodes, Placement wanted);

}  // namespace forebay
