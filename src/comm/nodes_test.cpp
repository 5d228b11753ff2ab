// SPDX-License-Identifier: Apache-2.0
// Nodes from keys of ranks.
#include "comm/nodes.hpp"

#include <array>

#include <gtest/gtest.h>

namespace forebay::comm {
namespace {

TEST(Nodes, are_numbered_by_their_lowest_rank_for_any_keys) {
  const std::array<std::uint64_t, 5> keys{90, 7, 90, 11, 7};
  const Nodes nodes(keys);
  ASSERT_EQ(nodes.count(), 3U);
  EXPECT_EQ(nodes.ranks_of(Node{0}), (std::vector<Rank>{{0}, {2}}));
  EXPECT_EQ(nodes.ranks_of(Node{1}), (std::vector<Rank>{{1}, {4}}));
  EXPECT_EQ(nodes.ranks_of(Node{2}), (std::vector<Rank>{{3}}));
  EXPECT_EQ(nodes.node_of(Rank{4}), Node{1});
  EXPECT_EQ(nodes.local_rank(Rank{4}), 1U);
  EXPECT_EQ(nodes.leader_of(Node{1}), Rank{1});
}

TEST(Nodes, of_one_rank_is_one_node) {
  const std::array<std::uint64_t, 1> keys{UINT64_MAX};
  EXPECT_EQ(Nodes(keys).count(), 1U);
}

TEST(NodesDeathTest, invalid_rank_asserts) {
  const std::array<std::uint64_t, 2> keys{1, 1};
  const Nodes nodes(keys);
  EXPECT_DEATH(static_cast<void>(nodes.node_of(Rank{2})), "nodes.cpp");
}

}  // namespace
}  // namespace forebay::comm
