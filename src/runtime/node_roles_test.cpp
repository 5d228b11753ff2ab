// SPDX-License-Identifier: Apache-2.0
// Roles of ranks, for thousands of random clusters.
#include "runtime/node_roles.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "read/testing.hpp"

namespace forebay {
namespace {

constexpr int kClusters = 5'000;

/// Ranks on nodes in blocks, round robin or at random, as launchers place them.
comm::Nodes random_nodes(read::Random& random) {
  const std::uint64_t ranks = random.uniform_between(1, 40);
  const std::uint64_t nodes = random.uniform_between(1, ranks);
  const std::uint64_t way = random.uniform(3);
  std::vector<std::uint64_t> keys;
  for (std::uint64_t rank = 0; rank < ranks; ++rank) {
    const std::uint64_t block = rank / ((ranks + nodes - 1) / nodes);
    keys.push_back(way == 0 ? block : way == 1 ? rank % nodes : random.uniform(nodes));
  }
  return comm::Nodes(keys);
}

std::uint32_t compute_rank_count_at(const comm::Nodes& nodes,
                                    comm::Node node,
                                    const NodeRoles& roles) {
  const auto& ranks = nodes.ranks_of(node);
  return static_cast<std::uint32_t>(std::ranges::count_if(
      ranks, [&](comm::Rank rank) { return roles.role_of(rank) == Role::kCompute; }));
}

/// Invariants of every placement.
void check_invariants(const comm::Nodes& nodes, const std::vector<NodeRoles>& roles) {
  ASSERT_EQ(roles.size(), nodes.count());
  for (std::uint32_t number = 0; number < nodes.count(); ++number) {
    const NodeRoles& here = roles[number];
    EXPECT_EQ(nodes.node_of(here.agent), comm::Node{number});
    EXPECT_GE(here.compute_rank_count, 1U);
    EXPECT_EQ(here.compute_rank_count, compute_rank_count_at(nodes, {number}, here));
    EXPECT_EQ(here.sharing_ranks(), nodes.ranks_of({number}).size());
  }
  EXPECT_EQ(roles[nodes.node_of({0}).number].role_of({0}), Role::kCompute);
}

TEST(Placement, in_rank_all_compute_and_the_leader_has_the_agent) {
  read::Random random;
  for (int i = 0; i < kClusters; ++i) {
    const comm::Nodes nodes = random_nodes(random);
    const auto roles = assign_roles(nodes, Placement::kInRank);
    check_invariants(nodes, roles);
    for (std::uint32_t node = 0; node < nodes.count(); ++node) {
      EXPECT_EQ(roles[node].agent, nodes.leader_of({node}));
      EXPECT_EQ(roles[node].compute_rank_count, nodes.ranks_of({node}).size());
    }
  }
}

TEST(Placement, dedicated_one_rank_of_each_larger_node_serves) {
  read::Random random;
  for (int i = 0; i < kClusters; ++i) {
    const comm::Nodes nodes = random_nodes(random);
    const auto roles = assign_roles(nodes, Placement::kDedicated);
    check_invariants(nodes, roles);
    for (std::uint32_t node = 0; node < nodes.count(); ++node) {
      const auto ranks = static_cast<std::uint32_t>(nodes.ranks_of({node}).size());
      EXPECT_EQ(roles[node].agent_role, ranks > 1 ? Role::kIo : Role::kCompute);
      EXPECT_EQ(roles[node].compute_rank_count, std::max(1U, ranks - 1));
    }
  }
}

// Each rank computes the roles by itself: only the nodes may matter.
TEST(Placement, names_of_nodes_do_not_matter) {
  read::Random random;
  for (int i = 0; i < kClusters; ++i) {
    std::vector<std::uint64_t> keys(random.uniform_between(1, 20));
    for (std::uint64_t& key : keys)
      key = random.uniform(4);
    std::vector<std::uint64_t> renamed = keys;
    for (std::uint64_t& key : renamed)
      key = key * 1'000'003 + 17;
    EXPECT_EQ(assign_roles(comm::Nodes(keys), Placement::kDedicated),
              assign_roles(comm::Nodes(renamed), Placement::kDedicated));
  }
}

TEST(Placement, seven_ranks_in_threes) {
  const std::vector<std::uint64_t> keys{0, 0, 0, 1, 1, 1, 2};
  const std::vector<NodeRoles> expected{
      {{2}, Role::kIo, 2}, {{5}, Role::kIo, 2}, {{6}, Role::kCompute, 1}};
  EXPECT_EQ(assign_roles(comm::Nodes(keys), Placement::kDedicated), expected);
}

}  // namespace
}  // namespace forebay
