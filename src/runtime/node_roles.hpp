// SPDX-License-Identifier: Apache-2.0
// NodeRoles: which rank of each node has its agent, and whether that rank computes as well. A pure
// function of values that all ranks have, so all ranks get the same result without communication.
#pragma once

#include <forebay/runtime.hpp>

#include <cstdint>
#include <vector>

#include "comm/nodes.hpp"

namespace forebay {

/// The roles of the ranks of one node.
struct NodeRoles {
  comm::Rank agent;                      ///< the rank with the node's agent
  Role agent_role = Role::kCompute;      ///< kIo: it is an I/O rank
  std::uint32_t compute_rank_count = 0;  ///< compute ranks on the node; never 0

  Role role_of(comm::Rank rank) const noexcept {
    return rank == agent ? agent_role : Role::kCompute;
  }
  /// Number of ranks that share the agent, including its own rank.
  std::uint32_t sharing_ranks() const noexcept {
    return compute_rank_count + (agent_role == Role::kIo ? 1 : 0);
  }

  friend bool operator==(const NodeRoles&, const NodeRoles&) noexcept = default;
};

/// The roles by node. Rank 0 always computes; a node of one rank keeps its agent in that rank.
std::vector<NodeRoles> assign_roles(const comm::Nodes& nodes, Placement requested);

}  // namespace forebay
