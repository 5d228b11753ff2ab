// SPDX-License-Identifier: Apache-2.0
#include "runtime/rank_split.hpp"

#include <algorithm>
#include <string>

#include "comm/ranks_access.hpp"

namespace forebay {

namespace {

Error not_computing_error() {
  return Error({.kind = ErrorClass::kInvalidArgument,
                .operation = "compute",
                .cause = "this is an I/O rank; call serve() on it"});
}

Status agree_on_placement(comm::Communicator& ranks, Placement requested) {
  const auto dedicated =
      ranks.all_reduce(comm::Reduction::kSum, requested == Placement::kDedicated ? 1 : 0);
  if (!dedicated) return failure(dedicated.error());
  if (*dedicated == 0 || *dedicated == ranks.size()) return {};
  return failure(
      {.kind = ErrorClass::kInvalidArgument,
       .operation = "create a Runtime",
       .cause = std::to_string(*dedicated) + " of " + std::to_string(ranks.size()) +
                " ranks request dedicated ranks; choose the same placement on all ranks"});
}

/// Collective: creates a group of ranks with its own message space, on all ranks or on none.
Result<std::shared_ptr<comm::Communicator>> split_collectively(comm::Communicator& ranks,
                                                               comm::SplitBy by) {
  auto group = ranks.split(by);
  const Status mine = group ? Status() : Status(tl::unexpect, group.error());
  if (Status agreed = ranks.agree(mine); !agreed) return failure(agreed.error());
  return group;
}

/// Collective: creates the communicators of this role and of all ranks ordered by role.
Status split_by_role(RankSplit& rank_split) {
  const auto is_dedicated = [](const NodeRoles& places) { return places.agent_role == Role::kIo; };
  rank_split.role_ranks = rank_split.compute_first = rank_split.all_ranks;
  for (const NodeRoles& node : rank_split.node_roles)
    rank_split.compute_rank_count += node.compute_rank_count;
  if (std::ranges::none_of(rank_split.node_roles, is_dedicated)) return {};
  comm::Communicator& all_ranks = *rank_split.all_ranks;
  const auto role = static_cast<std::uint32_t>(rank_split.role);
  const std::uint32_t number = all_ranks.rank().number;
  auto role_ranks = split_collectively(all_ranks, {.color = role, .key = number});
  if (!role_ranks) return failure(role_ranks.error());
  const bool computes = rank_split.role == Role::kCompute;
  auto ordered = split_collectively(
      all_ranks, {.color = 0, .key = computes ? number : all_ranks.size() + number});
  if (!ordered) return failure(ordered.error());
  rank_split.role_ranks = std::move(*role_ranks);
  rank_split.compute_first = std::move(*ordered);
  return {};
}

/// Collective over the compute ranks.
Ranks application_ranks(const RankSplit& rank_split) {
  if (rank_split.role == Role::kIo) return Ranks(not_computing_error());
  auto duplicate = rank_split.role_ranks->duplicate_for_application();
  return duplicate ? comm::make_ranks(std::move(*duplicate)) : Ranks(duplicate.error());
}

}  // namespace

Result<RankSplit> split_ranks(const Ranks& ranks, Placement requested) {
  if (!comm::ranks_communicator(ranks)) return failure(comm::ranks_communicator(ranks).error());
  const auto& all = *comm::ranks_communicator(ranks);
  if (Status agreed = agree_on_placement(*all, requested); !agreed) {
    return failure(agreed.error());
  }
  RankSplit rank_split{
      .all_ranks = all, .role_ranks = all, .node_roles = assign_roles(all->nodes(), requested)};
  rank_split.own_node = rank_split.node_roles.at(all->nodes().node_of(all->rank()).number);
  rank_split.role = rank_split.own_node.role_of(all->rank());
  if (Status parted = split_by_role(rank_split); !parted) return failure(parted.error());
  rank_split.application = application_ranks(rank_split);
  return rank_split;
}

}  // namespace forebay
