// SPDX-License-Identifier: Apache-2.0
#include "cube/call_tree.hpp"

#include <random>

#include <gtest/gtest.h>

namespace forebay::cube {
namespace {

/// A tree whose call path of place i has the parent `parents[i]`.
CallTree tree_of(const std::vector<std::uint32_t>& parents) {
  CallTree tree;
  for (std::uint32_t i = 0; i < parents.size(); ++i)
    tree.add({.id = i, .parent = parents[i], .parameters = {}});
  return tree;
}

std::string letters(const std::vector<std::uint32_t>& places, const std::string& names) {
  std::string text;
  for (const std::uint32_t place : places)
    text += names[place];
  return text;
}

using Places = std::vector<std::uint32_t>;

TEST(CallTree, rows_are_numbered_as_the_page_says) {
  const CallTree small = tree_of({kNone, 0, 1, 1, 0, 4});  // a(b(d,e),c(f))
  EXPECT_EQ(letters(small.places_by_row(MetricKind::kExclusive), "abdecf"), "abdecf");
  EXPECT_EQ(letters(small.places_by_row(MetricKind::kInclusive), "abdecf"), "abcdef");
  const CallTree deeper = tree_of({kNone, 0, 1, 2, 1, 0, 5});  // a(b(d(g),e),c(f))
  EXPECT_EQ(letters(deeper.places_by_row(MetricKind::kExclusive), "abdgecf"), "abdgecf");
  EXPECT_EQ(letters(deeper.places_by_row(MetricKind::kInclusive), "abdgecf"), "abcdegf");
}

TEST(CallTree, several_roots_are_numbered_one_after_the_other) {
  const CallTree tree = tree_of({kNone, 0, 1, 0, kNone, 4});  // a(b(c),d) e(f)
  EXPECT_EQ(letters(tree.places_by_row(MetricKind::kInclusive), "abcdef"), "abdcef");
}

TEST(CallTree, an_empty_tree_has_no_rows) {
  EXPECT_TRUE(CallTree{}.places_by_row(MetricKind::kInclusive).empty());
  EXPECT_TRUE(CallTree{}.subtree_ends().empty());
}

TEST(CallTree, subtrees_and_depths) {
  const CallTree tree = tree_of({kNone, 0, 1, 1, 0, 4});
  EXPECT_EQ(tree.subtree_ends(), (Places{6, 4, 3, 4, 6, 6}));
  EXPECT_EQ(tree.depths(), (Places{0, 1, 2, 2, 1, 2}));
}

TEST(CallTree, a_tree_as_deep_as_it_has_nodes_is_numbered) {
  std::vector<std::uint32_t> parents(200000);
  for (std::uint32_t i = 0; i < parents.size(); ++i)
    parents[i] = i == 0 ? kNone : i - 1;
  const CallTree tree = tree_of(parents);
  EXPECT_EQ(tree.places_by_row(MetricKind::kInclusive).back(), 199999U);
  EXPECT_EQ(tree.depths().back(), 199999U);
}

/// What CubeLib does, in words of its own: number all children, then go down into each.
void number(const std::vector<Places>& children, std::uint32_t place, Places& places) {
  for (const std::uint32_t child : children[place])
    places.push_back(child);
  for (const std::uint32_t child : children[place])
    number(children, child, places);
}

TEST(CallTree, random_trees_have_the_rows_that_recursion_gives_them) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    Places parents{kNone};
    std::vector<Places> children(1);
    Places path{0};
    while (parents.size() < 40) {
      path.resize(1 + random() % path.size());
      const auto place = static_cast<std::uint32_t>(parents.size());
      parents.push_back(path.back());
      children[path.back()].push_back(place);
      children.emplace_back();
      path.push_back(place);
    }
    Places expected{0};
    number(children, 0, expected);
    const CallTree tree = tree_of(parents);
    EXPECT_EQ(tree.places_by_row(MetricKind::kInclusive), expected);
    const Places rows = tree.rows_by_place(MetricKind::kInclusive);
    for (std::uint32_t row = 0; row < rows.size(); ++row)
      EXPECT_EQ(rows[expected[row]], row);
  }
}

}  // namespace
}  // namespace forebay::cube
