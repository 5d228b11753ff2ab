// SPDX-License-Identifier: Apache-2.0
#include "flow/partition.hpp"

#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

namespace forebay::flow {
namespace {

Mesh long_mesh() { return Mesh::create({.cells_across = 10, .cells_along = 30}).value(); }

double largest_over_mean(const Partition& partition, const Mesh& mesh) {
  std::size_t largest = 0;
  for (std::uint32_t part = 0; part < partition.part_count(); ++part)
    largest = std::max(largest, partition.elements_of(part).size());
  return static_cast<double>(largest) * partition.part_count() /
         static_cast<double>(mesh.element_count());
}

/// For each element, how many parts have it.
std::vector<int> count_element_uses(const Partition& partition, std::uint64_t elements) {
  std::vector<int> times(elements);
  for (std::uint32_t part = 0; part < partition.part_count(); ++part) {
    EXPECT_FALSE(partition.elements_of(part).empty());
    EXPECT_TRUE(std::ranges::is_sorted(partition.elements_of(part)));
    for (const std::uint64_t element : partition.elements_of(part)) {
      ++times[element];
      EXPECT_EQ(partition.part_of(element), part);
    }
  }
  return times;
}

TEST(Partition, each_element_belongs_to_one_part) {
  const Mesh mesh = long_mesh();
  for (const std::uint32_t parts : {1U, 2U, 7U, 64U}) {
    const Partition partition = Partition::create(mesh, {.parts = parts, .seed = 3}).value();
    EXPECT_EQ(count_element_uses(partition, mesh.element_count()),
              std::vector<int>(mesh.element_count(), 1));
  }
}

TEST(Partition, largest_part_has_the_requested_imbalance) {
  const Mesh mesh = long_mesh();
  for (const double imbalance : {0.0, 0.15, 0.25}) {
    for (const std::uint32_t parts : {2U, 5U, 24U, 64U}) {
      const Partition partition =
          Partition::create(mesh, {.parts = parts, .imbalance = imbalance, .seed = parts}).value();
      EXPECT_NEAR(largest_over_mean(partition, mesh), 1 + imbalance, 0.02) << parts;
    }
  }
}

TEST(Partition, same_seed_makes_the_same_partition) {
  const Mesh mesh = long_mesh();
  const auto parts_for = [&](std::uint64_t seed) {
    const Partition partition = Partition::create(mesh, {.parts = 9, .seed = seed}).value();
    std::vector<std::uint32_t> parts;
    for (std::uint64_t element = 0; element < mesh.element_count(); ++element)
      parts.push_back(partition.part_of(element));
    return parts;
  };
  EXPECT_EQ(parts_for(1), parts_for(1));
  EXPECT_NE(parts_for(1), parts_for(2));
}

TEST(Partition, too_many_parts_are_rejected) {
  const Mesh mesh = Mesh::create({.cells_across = 2, .cells_along = 2}).value();
  EXPECT_TRUE(Partition::create(mesh, {.parts = 6}));
  EXPECT_FALSE(Partition::create(mesh, {.parts = 7}));
  EXPECT_FALSE(Partition::create(mesh, {.parts = 0}));
  EXPECT_FALSE(Partition::create(mesh, {.parts = 2, .imbalance = 1.5}));
}

}  // namespace
}  // namespace forebay::flow
