// SPDX-License-Identifier: Apache-2.0
#include "runtime/division.hpp"

#include <algorithm>
#include <string>

namespace forebay {

namespace {

Error only_serves() {
  return Error({.kind = ErrorClass::kInvalidArgument,
                .operation = "compute",
                .cause = "this rank is given to I/O: it calls Runtime::serve()"});
}

Status agree_on(comm::Communicator& ranks, Placement wanted) {
  const auto asking =
      ranks.all_reduce(comm::Reduction::kSum, wanted == Placement::kDedicated ? 1 : 0);
  if (!asking) return failure(asking.error());
  if (*asking == 0 || *asking == ranks.size()) return {};
  return failure({.kind = ErrorClass::kInvalidArgument,
                  .operation = "make a Runtime",
                  .cause = std::to_string(*asking) + " of " + std::to_string(ranks.size()) +
                           " ranks ask for dedicated ranks: RuntimeOptions::placement is the same "
                           "on all"});
}

/// Collective: a group of ranks in a message space of its own, on all or on none.
Result<std::shared_ptr<comm::Communicator>> split(comm::Communicator& ranks, comm::SplitBy by) {
  auto group = ranks.split(by);
  const Status mine = group ? Status() : Status(tl::unexpect, group.error());
  if (Status agreed = ranks.agree(mine); !agreed) return failure(agreed.error());
  return group;
}

/// Collective: the ranks of this role among themselves, and all in the order of their roles.
Status part(Division& division) {
  const auto is_dedicated = [](const NodePlaces& places) {
    return places.role_of_agent == Role::kAgent;
  };
  division.ours = division.computing_first = division.all;
  for (const NodePlaces& node : division.places)
    division.computing += node.computing;
  if (std::ranges::none_of(division.places, is_dedicated)) return {};
  comm::Communicator& all = *division.all;
  const auto role = static_cast<std::uint32_t>(division.role);
  const std::uint32_t number = all.rank().number;
  auto ours = split(all, {.color = role, .key = number});
  if (!ours) return failure(ours.error());
  const bool computes = division.role == Role::kCompute;
  auto ordered = split(all, {.color = 0, .key = computes ? number : all.size() + number});
  if (!ordered) return failure(ordered.error());
  division.ours = std::move(*ours);
  division.computing_first = std::move(*ordered);
  return {};
}

/// Collective by the ranks that compute.
Ranks lend(const Division& division) {
  if (division.role == Role::kAgent) return Ranks(only_serves());
  auto lent = division.ours->duplicate_for_application();
  return lent ? Ranks(std::move(*lent)) : Ranks(lent.error());
}

}  // namespace

Result<Division> divide(const Ranks& ranks, Placement wanted) {
  if (!ranks.communicator()) return failure(ranks.communicator().error());
  const auto& everybody = *ranks.communicator();
  if (Status agreed = agree_on(*everybody, wanted); !agreed) {
    return failure(agreed.error());
  }
  Division division{
      .all = everybody, .ours = everybody, .places = place_agents(everybody->nodes(), wanted)};
  division.here = division.places.at(everybody->nodes().node_of(everybody->rank()).number);
  division.role = division.here.role_of(everybody->rank());
  if (Status parted = part(division); !parted) return failure(parted.error());
  division.application = lend(division);
  return division;
}

}  // namespace forebay
