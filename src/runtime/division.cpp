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
  if (!asking) return tl::unexpected<Error>(asking.error());
  if (*asking == 0 || *asking == ranks.size()) return {};
  return failure({.kind = ErrorClass::kInvalidArgument,
                  .operation = "make a Runtime",
                  .cause = std::to_string(*asking) + " of " + std::to_string(ranks.size()) +
                           " ranks ask for dedicated ranks: RuntimeOptions::placement is the same "
                           "on all"});
}

/// Collective: the ranks of this role among themselves.
Status part(Division& division) {
  const auto is_dedicated = [](const NodePlaces& places) {
    return places.role_of_agent == Role::kAgent;
  };
  division.ours = division.all;
  if (std::ranges::none_of(division.places, is_dedicated)) return {};
  const auto color = static_cast<std::uint32_t>(division.role);
  auto group = division.all->split({.color = color, .key = division.all->rank().number});
  const Status mine = group ? Status() : Status(tl::unexpect, group.error());
  if (Status agreed = division.all->agree(mine); !agreed) return agreed;
  division.ours = std::move(*group);
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
  if (!ranks.communicator()) return tl::unexpected<Error>(ranks.communicator().error());
  const auto& everybody = *ranks.communicator();
  if (Status agreed = agree_on(*everybody, wanted); !agreed) {
    return tl::unexpected<Error>(agreed.error());
  }
  Division division{
      .all = everybody, .ours = everybody, .places = place_agents(everybody->nodes(), wanted)};
  division.here = division.places.at(everybody->nodes().node_of(everybody->rank()).number);
  division.role = division.here.role_of(everybody->rank());
  if (Status parted = part(division); !parted) return tl::unexpected<Error>(parted.error());
  division.application = lend(division);
  return division;
}

}  // namespace forebay
