// SPDX-License-Identifier: Apache-2.0
// Sums over parts and what is built on them, on ranks of every kind: bits, not nearness.
#include <map>
#include <optional>
#include <random>

#include <gtest/gtest.h>

#include "flow/part_fingerprints.hpp"
#include "flow/scalar_products.hpp"
#include "flow/shared_sums.hpp"
#include "flow/testing.hpp"

namespace forebay::flow {
namespace {

using testing::CutMesh;
using testing::for_each_node;
using testing::on_each_map;

const CutMesh& summed_parts() {
  static const CutMesh cut = CutMesh::of({.cells_across = 5, .cells_along = 12}, {.parts = 11});
  return cut;
}

/// What a part contributes to a node; of very different sizes, so that the order of sums matters.
double contribution(std::uint32_t part, std::uint64_t node) {
  std::mt19937_64 random(1000 * node + part);
  return std::uniform_real_distribution<double>(-1, 1)(random) *
         std::ldexp(1.0, static_cast<int>(random() % 40));
}

/// A contribution for each node of each part of a set; those of part `as` where that is given.
Vector contributions(const PartSet& set, std::optional<std::uint32_t> as = {}) {
  Vector values;
  for (const Part& part : set.parts()) {
    for (const std::uint64_t node : part.nodes)
      values.push_back(contribution(as.value_or(part.number), node));
  }
  return values;
}

TEST(SharedSums, each_copy_is_the_sum_in_rising_order_of_parts) {
  const CutMesh& cut = summed_parts();
  std::map<std::uint64_t, double> wanted;
  for (const Part& part : cut.parts) {
    for (const std::uint64_t node : part.nodes)
      wanted[node] += contribution(part.number, node);
  }
  on_each_map(11, [&](Team& team, const PartMap& map) {
    const PartSet set = cut.set_of(map, team.rank());
    PhaseTimes times;
    SharedSums sums(set, team, times);
    Vector values = contributions(set);
    sums.add(values);
    for_each_node(set, values, [&](const Part& part, std::size_t node, double value) {
      EXPECT_EQ(value, wanted.at(part.nodes[node]));
    });
  });
}

TEST(ScalarProducts, each_node_counts_once_and_the_order_is_that_of_parts) {
  const CutMesh& cut = summed_parts();
  double alone = 0;
  run_as_threads(1, [&](Team& team) {
    const PartSet set = cut.set_of(map_in_blocks(11, 1), 0);
    const Vector values = contributions(set, 77);
    PhaseTimes times;
    alone = ScalarProducts(set, team, times).of(values, values);
  });
  long double wanted = 0;
  for (std::uint64_t node = 0; node < cut.mesh.node_count(); ++node) {
    const long double value = contribution(77, node);
    wanted += value * value;
  }
  EXPECT_NEAR(alone, static_cast<double>(wanted), 1e-10 * alone);
  on_each_map(11, [&](Team& team, const PartMap& map) {
    const PartSet set = cut.set_of(map, team.rank());
    const Vector values = contributions(set, 77);
    PhaseTimes times;
    ScalarProducts products(set, team, times);
    EXPECT_EQ(products.of(values, values), alone);
    const Vector ones(values.size(), 1.0);
    const std::vector<VectorPair> pairs{{ones, ones}, {values, values}};
    const std::vector<double> both = products.of(pairs);
    EXPECT_EQ(both[0], static_cast<double>(cut.mesh.node_count()));
    EXPECT_EQ(both[1], alone);
  });
}

TEST(Fingerprints, do_not_depend_on_ranks_and_change_with_one_bit) {
  const CutMesh& cut = summed_parts();
  std::uint64_t alone = 0;
  run_as_threads(1, [&](Team& team) {
    alone = fingerprint_of_mesh(cut.set_of(map_in_blocks(11, 1), 0), team);
  });
  on_each_map(11, [&](Team& team, const PartMap& map) {
    const PartSet set = cut.set_of(map, team.rank());
    EXPECT_EQ(fingerprint_of_mesh(set, team), alone);
    Vector values(set.node_count(), 1.0);
    const std::uint64_t before = fingerprint_of_values(set, team, values);
    for (std::size_t i = 0; i < set.parts().size(); ++i)
      if (set.parts()[i].number == 3) set.piece(values, i).back() += 1e-15;
    EXPECT_NE(fingerprint_of_values(set, team, values), before);
  });
}

TEST(Fingerprints, neighbours_that_disagree_are_found_on_all_ranks) {
  on_each_map(11, [](Team& team, const PartMap& map) {
    CutMesh cut = summed_parts();
    EXPECT_TRUE(check_neighbours(cut.set_of(map, team.rank()), team));
    cut.parts[4].neighbours.front().nodes.pop_back();
    const Status checked = check_neighbours(cut.set_of(map, team.rank()), team);
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().kind(), ErrorClass::kDamage);
  });
}

}  // namespace
}  // namespace forebay::flow
