// SPDX-License-Identifier: Apache-2.0
#include "cube/call_tree.hpp"

#include <random>

#include <gtest/gtest.h>

namespace forebay::cube {
namespace {

/// A tree in which the call path with index i has the parent `parents[i]`.
CallTree tree_of(const std::vector<std::uint32_t>& parents) {
  CallTree tree;
  for (std::uint32_t i = 0; i < parents.size(); ++i)
    tree.add({.id = i, .parent = parents[i], .parameters = {}});
  return tree;
}

std::string names_of(const std::vector<std::uint32_t>& indices, const std::string& names) {
  std::string text;
  for (const std::uint32_t index : indices)
    text += names[index];
  return text;
}

using Indices = std::vector<std::uint32_t>;

TEST(CallTree, rows_match_documented_numbering) {
  const CallTree small = tree_of({kNone, 0, 1, 1, 0, 4});  // a(b(d,e),c(f))
  EXPECT_EQ(names_of(small.call_paths_by_row(MetricKind::kExclusive), "abdecf"), "abdecf");
  EXPECT_EQ(names_of(small.call_paths_by_row(MetricKind::kInclusive), "abdecf"), "abcdef");
  const CallTree deeper = tree_of({kNone, 0, 1, 2, 1, 0, 5});  // a(b(d(g),e),c(f))
  EXPECT_EQ(names_of(deeper.call_paths_by_row(MetricKind::kExclusive), "abdgecf"), "abdgecf");
  EXPECT_EQ(names_of(deeper.call_paths_by_row(MetricKind::kInclusive), "abdgecf"), "abcdegf");
}

TEST(CallTree, several_roots_are_numbered_in_sequence) {
  const CallTree tree = tree_of({kNone, 0, 1, 0, kNone, 4});  // a(b(c),d) e(f)
  EXPECT_EQ(names_of(tree.call_paths_by_row(MetricKind::kInclusive), "abcdef"), "abdcef");
}

TEST(CallTree, empty_tree_has_no_rows) {
  EXPECT_TRUE(CallTree{}.call_paths_by_row(MetricKind::kInclusive).empty());
  EXPECT_TRUE(CallTree{}.subtree_ends().empty());
}

TEST(CallTree, subtree_ends_and_depths_are_correct) {
  const CallTree tree = tree_of({kNone, 0, 1, 1, 0, 4});
  EXPECT_EQ(tree.subtree_ends(), (Indices{6, 4, 3, 4, 6, 6}));
  EXPECT_EQ(tree.depths(), (Indices{0, 1, 2, 2, 1, 2}));
}

TEST(CallTree, chain_of_nodes_is_numbered) {
  std::vector<std::uint32_t> parents(200000);
  for (std::uint32_t i = 0; i < parents.size(); ++i)
    parents[i] = i == 0 ? kNone : i - 1;
  const CallTree tree = tree_of(parents);
  EXPECT_EQ(tree.call_paths_by_row(MetricKind::kInclusive).back(), 199999U);
  EXPECT_EQ(tree.depths().back(), 199999U);
}

/// An independent implementation of CubeLib's order: number all children, then descend into each.
void number(const std::vector<Indices>& children, std::uint32_t index, Indices& indices) {
  for (const std::uint32_t child : children[index])
    indices.push_back(child);
  for (const std::uint32_t child : children[index])
    number(children, child, indices);
}

TEST(CallTree, random_trees_match_recursive_numbering) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    Indices parents{kNone};
    std::vector<Indices> children(1);
    Indices path{0};
    while (parents.size() < 40) {
      path.resize(1 + random() % path.size());
      const auto index = static_cast<std::uint32_t>(parents.size());
      parents.push_back(path.back());
      children[path.back()].push_back(index);
      children.emplace_back();
      path.push_back(index);
    }
    Indices expected{0};
    number(children, 0, expected);
    const CallTree tree = tree_of(parents);
    EXPECT_EQ(tree.call_paths_by_row(MetricKind::kInclusive), expected);
    const Indices rows = tree.rows_by_call_path(MetricKind::kInclusive);
    for (std::uint32_t row = 0; row < rows.size(); ++row)
      EXPECT_EQ(rows[expected[row]], row);
  }
}

}  // namespace
}  // namespace forebay::cube
