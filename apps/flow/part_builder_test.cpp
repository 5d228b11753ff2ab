// SPDX-License-Identifier: Apache-2.0
#include "flow/part_builder.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "flow/testing.hpp"

namespace forebay::flow {
namespace {

using testing::CutMesh;

CutMesh some_parts() {
  return CutMesh::of({.cells_across = 8, .cells_along = 24, .seed = 5}, {.parts = 20, .seed = 2});
}

TEST(Parts, together_they_are_the_mesh) {
  const CutMesh cut = some_parts();
  std::multiset<std::array<std::uint64_t, 4>> elements;
  std::map<std::uint64_t, int> owners;
  for (const Part& part : cut.parts) {
    for (const Tetrahedron& element : part.elements) {
      elements.insert({part.nodes[element[0]], part.nodes[element[1]], part.nodes[element[2]],
                       part.nodes[element[3]]});
    }
    for (std::size_t node = 0; node < part.node_count(); ++node) {
      EXPECT_EQ(part.coordinates[node], cut.mesh.position(part.nodes[node]));
      EXPECT_EQ(part.marks[node], cut.mesh.mark(part.nodes[node]));
      const bool is_owned = node < part.owned_shared_count || node >= part.shared_count;
      owners[part.nodes[node]] += is_owned ? 1 : 0;
    }
  }
  std::multiset<std::array<std::uint64_t, 4>> wanted;
  for (std::uint64_t element = 0; element < cut.mesh.element_count(); ++element)
    wanted.insert(cut.mesh.nodes_of(element));
  EXPECT_EQ(elements, wanted);
  EXPECT_EQ(owners.size(), cut.mesh.node_count());
  for (const auto& [node, count] : owners)
    EXPECT_EQ(count, 1) << node;
}

TEST(Parts, shared_nodes_are_those_of_both_in_the_same_order) {
  const CutMesh cut = some_parts();
  const auto nodes_of = [&](const Part& part) {
    std::vector<std::uint64_t> nodes = part.nodes;
    std::ranges::sort(nodes);
    return nodes;
  };
  for (const Part& one : cut.parts) {
    for (const Part& other : cut.parts) {
      if (one.number == other.number) continue;
      std::vector<std::uint64_t> wanted;
      std::ranges::set_intersection(nodes_of(one), nodes_of(other), std::back_inserter(wanted));
      const auto found = std::ranges::find(one.neighbours, other.number, &Neighbour::part);
      ASSERT_EQ(found == one.neighbours.end(), wanted.empty());
      if (wanted.empty()) continue;
      std::vector<std::uint64_t> shared;
      for (const std::uint32_t node : found->nodes)
        shared.push_back(one.nodes[node]);
      EXPECT_EQ(shared, wanted);
    }
  }
}

/// Who else has the nodes of a part.
struct Sharing {
  explicit Sharing(const Part& part)
      : lowest(part.node_count(), part.number), is_shared(part.node_count()) {
    for (const Neighbour& neighbour : part.neighbours) {
      for (const std::uint32_t node : neighbour.nodes) {
        is_shared[node] = true;
        lowest[node] = std::min(lowest[node], neighbour.part);
      }
    }
  }
  std::vector<std::uint32_t> lowest;  ///< of all parts that have a node
  std::vector<bool> is_shared;
};

TEST(Parts, groups_of_nodes_are_what_they_say) {
  const CutMesh cut = some_parts();
  for (const Part& part : cut.parts) {
    const Sharing sharing(part);
    for (std::size_t node = 0; node < part.node_count(); ++node) {
      EXPECT_EQ(sharing.is_shared[node], node < part.shared_count);
      const bool is_owned_shared = sharing.is_shared[node] && sharing.lowest[node] == part.number;
      EXPECT_EQ(is_owned_shared, node < part.owned_shared_count);
    }
    const auto first = part.nodes.begin();
    EXPECT_TRUE(
        std::is_sorted(first, first + static_cast<std::ptrdiff_t>(part.owned_shared_count)));
    EXPECT_TRUE(
        std::is_sorted(first + static_cast<std::ptrdiff_t>(part.shared_count), part.nodes.end()));
  }
}

TEST(Parts, neighbours_are_many_and_irregular) {
  const CutMesh cut =
      CutMesh::of({.cells_across = 16, .cells_along = 48, .seed = 5}, {.parts = 160, .seed = 2});
  std::set<std::size_t> counts;
  for (const Part& part : cut.parts)
    counts.insert(part.neighbours.size());
  EXPECT_GE(counts.size(), 10U) << "different numbers of neighbours";
  EXPECT_GE(*counts.rbegin(), 24U);
  EXPECT_LE(*counts.rbegin(), 48U);
  EXPECT_GE(*counts.begin(), 3U);
}

}  // namespace
}  // namespace forebay::flow
