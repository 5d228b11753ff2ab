// SPDX-License-Identifier: Apache-2.0
#include "flow/part_builder.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "flow/testing.hpp"

namespace forebay::flow {
namespace {

using testing::PartitionedMesh;

PartitionedMesh test_parts() {
  return PartitionedMesh::create({.cells_across = 8, .cells_along = 24, .seed = 5},
                                 {.parts = 20, .seed = 2});
}

TEST(Parts, parts_together_are_the_mesh) {
  const PartitionedMesh partitioned = test_parts();
  std::multiset<std::array<std::uint64_t, 4>> elements;
  std::map<std::uint64_t, int> owners;
  for (const MeshPart& part : partitioned.parts) {
    for (const Tetrahedron& element : part.elements) {
      elements.insert({part.nodes[element[0]], part.nodes[element[1]], part.nodes[element[2]],
                       part.nodes[element[3]]});
    }
    for (std::size_t node = 0; node < part.node_count(); ++node) {
      EXPECT_EQ(part.coordinates[node], partitioned.mesh.position(part.nodes[node]));
      EXPECT_EQ(part.markers[node], partitioned.mesh.marker(part.nodes[node]));
      const bool is_owned = node < part.owned_shared_count || node >= part.shared_count;
      owners[part.nodes[node]] += is_owned ? 1 : 0;
    }
  }
  std::multiset<std::array<std::uint64_t, 4>> wanted;
  for (std::uint64_t element = 0; element < partitioned.mesh.element_count(); ++element)
    wanted.insert(partitioned.mesh.nodes_of(element));
  EXPECT_EQ(elements, wanted);
  EXPECT_EQ(owners.size(), partitioned.mesh.node_count());
  for (const auto& [node, count] : owners)
    EXPECT_EQ(count, 1) << node;
}

TEST(Parts, both_neighbors_list_shared_nodes_in_the_same_order) {
  const PartitionedMesh partitioned = test_parts();
  const auto nodes_of = [&](const MeshPart& part) {
    std::vector<std::uint64_t> nodes = part.nodes;
    std::ranges::sort(nodes);
    return nodes;
  };
  for (const MeshPart& one : partitioned.parts) {
    for (const MeshPart& other : partitioned.parts) {
      if (one.number == other.number) continue;
      std::vector<std::uint64_t> wanted;
      std::ranges::set_intersection(nodes_of(one), nodes_of(other), std::back_inserter(wanted));
      const auto found = std::ranges::find(one.neighbors, other.number, &Neighbor::part);
      ASSERT_EQ(found == one.neighbors.end(), wanted.empty());
      if (wanted.empty()) continue;
      std::vector<std::uint64_t> shared;
      for (const std::uint32_t node : found->nodes)
        shared.push_back(one.nodes[node]);
      EXPECT_EQ(shared, wanted);
    }
  }
}

/// Which nodes of a part are shared, and the lowest part that has each.
struct Sharing {
  explicit Sharing(const MeshPart& part)
      : lowest(part.node_count(), part.number), is_shared(part.node_count()) {
    for (const Neighbor& neighbor : part.neighbors) {
      for (const std::uint32_t node : neighbor.nodes) {
        is_shared[node] = true;
        lowest[node] = std::min(lowest[node], neighbor.part);
      }
    }
  }
  std::vector<std::uint32_t> lowest;  ///< lowest of the parts that have each node
  std::vector<bool> is_shared;
};

TEST(Parts, node_groups_match_ownership) {
  const PartitionedMesh partitioned = test_parts();
  for (const MeshPart& part : partitioned.parts) {
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

TEST(Parts, neighbors_are_many_and_irregular) {
  const PartitionedMesh partitioned = PartitionedMesh::create(
      {.cells_across = 16, .cells_along = 48, .seed = 5}, {.parts = 160, .seed = 2});
  std::set<std::size_t> counts;
  for (const MeshPart& part : partitioned.parts)
    counts.insert(part.neighbors.size());
  EXPECT_GE(counts.size(), 10U) << "different numbers of neighbors";
  EXPECT_GE(*counts.rbegin(), 24U);
  EXPECT_LE(*counts.rbegin(), 48U);
  EXPECT_GE(*counts.begin(), 3U);
}

}  // namespace
}  // namespace forebay::flow
