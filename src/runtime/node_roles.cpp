// SPDX-License-Identifier: Apache-2.0
#include "runtime/node_roles.hpp"

namespace forebay {

namespace {

NodeRoles roles_at(const std::vector<comm::Rank>& ranks, Placement requested) {
  const auto count = static_cast<std::uint32_t>(ranks.size());
  if (requested == Placement::kInRank || count < 2) {
    return {.agent = ranks.front(), .agent_role = Role::kCompute, .compute_rank_count = count};
  }
  // The last rank, so that rank 0 computes: launchers connect it to the terminal, and programs
  // print there.
  return {.agent = ranks.back(), .agent_role = Role::kIo, .compute_rank_count = count - 1};
}

}  // namespace

std::vector<NodeRoles> assign_roles(const comm::Nodes& nodes, Placement requested) {
  std::vector<NodeRoles> roles;
  roles.reserve(nodes.count());
  for (std::uint32_t node = 0; node < nodes.count(); ++node)
    roles.push_back(roles_at(nodes.ranks_of({node}), requested));
  return roles;
}

}  // namespace forebay
