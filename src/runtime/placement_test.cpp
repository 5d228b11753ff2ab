// SPDX-License-Identifier: Apache-2.0
// Where agents live, for thousands of random clusters.
#include "runtime/placement.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "read/testing.hpp"

namespace forebay {
namespace {

constexpr int kClusters = 5'000;

/// Ranks strewn over nodes in blocks, in turns or anyhow, as launchers do.
comm::Nodes random_nodes(read::Random& random) {
  const std::uint64_t ranks = random.between(1, 40);
  const std::uint64_t nodes = random.between(1, ranks);
  const std::uint64_t way = random.below(3);
  std::vector<std::uint64_t> keys;
  for (std::uint64_t rank = 0; rank < ranks; ++rank) {
    const std::uint64_t block = rank / ((ranks + nodes - 1) / nodes);
    keys.push_back(way == 0 ? block : way == 1 ? rank % nodes : random.below(nodes));
  }
  return comm::Nodes(keys);
}

std::uint32_t computing_at(const comm::Nodes& nodes, comm::Node node, const NodePlaces& places) {
  const auto& ranks = nodes.ranks_of(node);
  return static_cast<std::uint32_t>(std::ranges::count_if(
      ranks, [&](comm::Rank rank) { return places.role_of(rank) == Role::kCompute; }));
}

/// What holds wherever agents live.
void check_any(const comm::Nodes& nodes, const std::vector<NodePlaces>& places) {
  ASSERT_EQ(places.size(), nodes.count());
  for (std::uint32_t number = 0; number < nodes.count(); ++number) {
    const NodePlaces& here = places[number];
    EXPECT_EQ(nodes.node_of(here.agent), comm::Node{number});
    EXPECT_GE(here.computing, 1U);
    EXPECT_EQ(here.computing, computing_at(nodes, {number}, here));
    EXPECT_EQ(here.sharing(), nodes.ranks_of({number}).size());
  }
  EXPECT_EQ(places[nodes.node_of({0}).number].role_of({0}), Role::kCompute);
}

TEST(Placement, in_rank_all_compute_and_the_leader_has_the_agent) {
  read::Random random;
  for (int i = 0; i < kClusters; ++i) {
    const comm::Nodes nodes = random_nodes(random);
    const auto places = place_agents(nodes, Placement::kInRank);
    check_any(nodes, places);
    for (std::uint32_t node = 0; node < nodes.count(); ++node) {
      EXPECT_EQ(places[node].agent, nodes.leader_of({node}));
      EXPECT_EQ(places[node].computing, nodes.ranks_of({node}).size());
    }
  }
}

TEST(Placement, dedicated_one_rank_of_each_node_that_has_two_serves) {
  read::Random random;
  for (int i = 0; i < kClusters; ++i) {
    const comm::Nodes nodes = random_nodes(random);
    const auto places = place_agents(nodes, Placement::kDedicated);
    check_any(nodes, places);
    for (std::uint32_t node = 0; node < nodes.count(); ++node) {
      const auto ranks = static_cast<std::uint32_t>(nodes.ranks_of({node}).size());
      EXPECT_EQ(places[node].role_of_agent, ranks > 1 ? Role::kAgent : Role::kCompute);
      EXPECT_EQ(places[node].computing, std::max(1U, ranks - 1));
    }
  }
}

// Each rank decides for itself: nothing but the nodes may matter.
TEST(Placement, names_of_nodes_do_not_matter) {
  read::Random random;
  for (int i = 0; i < kClusters; ++i) {
    std::vector<std::uint64_t> keys(random.between(1, 20));
    for (std::uint64_t& key : keys)
      key = random.below(4);
    std::vector<std::uint64_t> renamed = keys;
    for (std::uint64_t& key : renamed)
      key = key * 1'000'003 + 17;
    EXPECT_EQ(place_agents(comm::Nodes(keys), Placement::kDedicated),
              place_agents(comm::Nodes(renamed), Placement::kDedicated));
  }
}

TEST(Placement, seven_ranks_in_threes) {
  const std::vector<std::uint64_t> keys{0, 0, 0, 1, 1, 1, 2};
  const std::vector<NodePlaces> expected{
      {{2}, Role::kAgent, 2}, {{5}, Role::kAgent, 2}, {{6}, Role::kCompute, 1}};
  EXPECT_EQ(place_agents(comm::Nodes(keys), Placement::kDedicated), expected);
}

}  // namespace
}  // namespace forebay
