// SPDX-License-Identifier: Apache-2.0
#include "runtime/placement.hpp"

namespace forebay {

namespace {

NodePlaces places_at(const std::vector<comm::Rank>& ranks, Placement wanted) {
  const auto count = static_cast<std::uint32_t>(ranks.size());
  if (wanted == Placement::kInRank || count < 2) {
    return {.agent = ranks.front(), .role_of_agent = Role::kCompute, .computing = count};
  }
  // The last one, so that rank 0 computes: launchers give it the terminal, programs the talking.
  return {.agent = ranks.back(), .role_of_agent = Role::kAgent, .computing = count - 1};
}

}  // namespace

std::vector<NodePlaces> place_agents(const comm::Nodes& nodes, Placement wanted) {
  std::vector<NodePlaces> places;
  places.reserve(nodes.count());
  for (std::uint32_t node = 0; node < nodes.count(); ++node)
    places.push_back(places_at(nodes.ranks_of({node}), wanted));
  return places;
}

}  // namespace forebay
