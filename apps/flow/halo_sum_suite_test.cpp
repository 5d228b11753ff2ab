// SPDX-License-Identifier: Apache-2.0
// Tests of sums over parts and code that uses them, on ranks of every kind: results must be equal
// bit for bit.
#include <map>
#include <optional>
#include <random>

#include <gtest/gtest.h>

#include "flow/halo_sum.hpp"
#include "flow/part_fingerprints.hpp"
#include "flow/scalar_products.hpp"
#include "flow/testing.hpp"

namespace forebay::flow {
namespace {

using testing::for_each_map;
using testing::for_each_node;
using testing::PartitionedMesh;

const PartitionedMesh& partitioned_mesh() {
  static const PartitionedMesh partitioned =
      PartitionedMesh::create({.cells_across = 5, .cells_along = 12}, {.parts = 11});
  return partitioned;
}

/// Contribution of a part to a node. Magnitudes differ, so the order of sums matters.
double contribution(std::uint32_t part, std::uint64_t node) {
  std::mt19937_64 random(1000 * node + part);
  return std::uniform_real_distribution<double>(-1, 1)(random) *
         std::ldexp(1.0, static_cast<int>(random() % 40));
}

/// The contribution for each node of each part of a set; that of part `as` instead, if given.
Vector contributions(const PartSet& set, std::optional<std::uint32_t> as = {}) {
  Vector values;
  for (const MeshPart& part : set.parts()) {
    for (const std::uint64_t node : part.nodes)
      values.push_back(contribution(as.value_or(part.number), node));
  }
  return values;
}

TEST(HaloSum, each_copy_is_the_sum_in_ascending_order_of_parts) {
  const PartitionedMesh& partitioned = partitioned_mesh();
  std::map<std::uint64_t, double> wanted;
  for (const MeshPart& part : partitioned.parts) {
    for (const std::uint64_t node : part.nodes)
      wanted[node] += contribution(part.number, node);
  }
  for_each_map(11, [&](SolverComm& comm, const PartMap& map) {
    const PartSet set = partitioned.part_set(map, comm.rank());
    PhaseTimes times;
    HaloSum sums(set, comm, times);
    Vector values = contributions(set);
    sums.add(values);
    for_each_node(set, values, [&](const MeshPart& part, std::size_t node, double value) {
      EXPECT_EQ(value, wanted.at(part.nodes[node]));
    });
  });
}

TEST(ScalarProducts, each_node_counts_once_in_order_of_parts) {
  const PartitionedMesh& partitioned = partitioned_mesh();
  double expected = 0;
  run_thread_ranks(1, [&](SolverComm& comm) {
    const PartSet set = partitioned.part_set(make_block_map(11, 1), 0);
    const Vector values = contributions(set, 77);
    PhaseTimes times;
    expected = ScalarProducts(set, comm, times).compute(values, values);
  });
  long double wanted = 0;
  for (std::uint64_t node = 0; node < partitioned.mesh.node_count(); ++node) {
    const long double value = contribution(77, node);
    wanted += value * value;
  }
  EXPECT_NEAR(expected, static_cast<double>(wanted), 1e-10 * expected);
  for_each_map(11, [&](SolverComm& comm, const PartMap& map) {
    const PartSet set = partitioned.part_set(map, comm.rank());
    const Vector values = contributions(set, 77);
    PhaseTimes times;
    ScalarProducts products(set, comm, times);
    EXPECT_EQ(products.compute(values, values), expected);
    const Vector ones(values.size(), 1.0);
    const std::vector<VectorPair> pairs{{ones, ones}, {values, values}};
    const std::vector<double> both = products.compute(pairs);
    EXPECT_EQ(both[0], static_cast<double>(partitioned.mesh.node_count()));
    EXPECT_EQ(both[1], expected);
  });
}

TEST(Fingerprints, depend_on_each_bit_but_not_on_ranks) {
  const PartitionedMesh& partitioned = partitioned_mesh();
  std::uint64_t expected = 0;
  run_thread_ranks(1, [&](SolverComm& comm) {
    expected = fingerprint_of_mesh(partitioned.part_set(make_block_map(11, 1), 0), comm);
  });
  for_each_map(11, [&](SolverComm& comm, const PartMap& map) {
    const PartSet set = partitioned.part_set(map, comm.rank());
    EXPECT_EQ(fingerprint_of_mesh(set, comm), expected);
    Vector values(set.node_count(), 1.0);
    const std::uint64_t before = fingerprint_of_values(set, comm, values);
    for (std::size_t i = 0; i < set.parts().size(); ++i)
      if (set.parts()[i].number == 3) set.slice(values, i).back() += 1e-15;
    EXPECT_NE(fingerprint_of_values(set, comm, values), before);
  });
}

TEST(Fingerprints, inconsistent_neighbors_are_an_error_on_all_ranks) {
  for_each_map(11, [](SolverComm& comm, const PartMap& map) {
    PartitionedMesh partitioned = partitioned_mesh();
    EXPECT_TRUE(check_neighbors(partitioned.part_set(map, comm.rank()), comm));
    partitioned.parts[4].neighbors.front().nodes.pop_back();
    const Status checked = check_neighbors(partitioned.part_set(map, comm.rank()), comm);
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().kind(), ErrorClass::kDamage);
  });
}

}  // namespace
}  // namespace forebay::flow
