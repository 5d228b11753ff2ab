// SPDX-License-Identifier: Apache-2.0
// RankSplit: the ranks of a Runtime, split once into compute ranks and I/O ranks. Each group has
// its own communicator, so a collective call of compute ranks never waits for an I/O rank. A
// communicator of all ranks serves calls for which I/O ranks were notified.
#pragma once

#include <forebay/error.hpp>
#include <forebay/ranks.hpp>
#include <forebay/runtime.hpp>

#include <memory>
#include <vector>

#include "comm/communicator.hpp"
#include "runtime/node_roles.hpp"

namespace forebay {

struct RankSplit {
  std::shared_ptr<comm::Communicator> all_ranks;  ///< every rank
  std::shared_ptr<comm::Communicator>
      role_ranks;  ///< the ranks of this role, for messages of Forebay
  /// All ranks, compute ranks first, so that these have the same numbers here and in `role_ranks`.
  std::shared_ptr<comm::Communicator> compute_first;
  std::uint32_t compute_rank_count = 0;  ///< number of compute ranks
  Ranks application;                     ///< the compute ranks, for messages of the program
  std::vector<NodeRoles> node_roles;     ///< by node; the same on all ranks
  NodeRoles own_node;                    ///< of this rank's node
  Role role = Role::kCompute;
};

/// Collective over all ranks. Fails on all of them with kInvalidArgument if they request different
/// placements.
Result<RankSplit> split_ranks(const Ranks& ranks, Placement requested);

}  // namespace forebay
