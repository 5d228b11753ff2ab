// SPDX-License-Identifier: Apache-2.0
#include "flow/mesh_io.hpp"

#include <functional>
#include <limits>

#include <gtest/gtest.h>

#include "flow/memory_store.hpp"
#include "flow/testing.hpp"

namespace forebay::flow {
namespace {

using testing::PartitionedMesh;

const PartitionedMesh& test_mesh() {
  static const PartitionedMesh partitioned =
      PartitionedMesh::create({.cells_across = 6, .cells_along = 12}, {.parts = 9});
  return partitioned;
}

MeshInfo test_mesh_info() {
  return {9, test_mesh().mesh.node_count(), test_mesh().mesh.element_count(), 77};
}

/// Puts a part and reads it back.
Result<MeshPart> round_trip(const MeshPart& part, const MeshInfo& info = test_mesh_info()) {
  MemoryStoreState state;
  Result<MeshPart> found = part;
  run_thread_ranks(1, [&](SolverComm& comm) {
    const auto store = make_memory_store(state, comm);
    const auto writer = store->begin_step(kMeshStep).value().release();
    const std::unique_ptr<PartStepWriter> owner(writer);
    EXPECT_TRUE(put_part(*writer, part));
    EXPECT_TRUE(writer->commit());
    const auto reader = store->open_step(kMeshStep);
    ASSERT_TRUE(reader);
    found = get_part(**reader, part.number, info);
  });
  return found;
}

TEST(MeshIo, every_part_is_read_as_written) {
  for (const MeshPart& part : test_mesh().parts) {
    const Result<MeshPart> found = round_trip(part);
    ASSERT_TRUE(found) << found.error().message();
    EXPECT_EQ(found->number, part.number);
    EXPECT_EQ(found->nodes, part.nodes);
    EXPECT_EQ(found->coordinates, part.coordinates);
    EXPECT_EQ(found->markers, part.markers);
    EXPECT_EQ(found->elements, part.elements);
    EXPECT_EQ(found->owned_shared_count, part.owned_shared_count);
    EXPECT_EQ(found->shared_count, part.shared_count);
    ASSERT_EQ(found->neighbors.size(), part.neighbors.size());
    for (std::size_t i = 0; i < part.neighbors.size(); ++i) {
      EXPECT_EQ(found->neighbors[i].part, part.neighbors[i].part);
      EXPECT_EQ(found->neighbors[i].nodes, part.neighbors[i].nodes);
    }
  }
}

TEST(MeshIo, invalid_part_is_damage_that_names_the_array) {
  struct Case {
    const char* array;
    std::function<void(MeshPart&)> change;
  };
  const std::vector<Case> cases{
      {"nodes", [](MeshPart& part) { part.nodes.pop_back(); }},
      {"nodes", [](MeshPart& part) { part.nodes.back() = 1U << 30U; }},
      {"nodes", [](MeshPart& part) { part.coordinates.pop_back(); }},
      {"nodes", [](MeshPart& part) { part.markers.pop_back(); }},
      {"nodes", [](MeshPart& part) { part = MeshPart{.number = part.number}; }},
      {"coordinates",
       [](MeshPart& part) { part.coordinates[3][1] = std::numeric_limits<double>::quiet_NaN(); }},
      {"marks", [](MeshPart& part) { part.markers[2] = static_cast<BoundaryMarker>(4); }},
      {"elements", [](MeshPart& part) { part.elements[5][2] = 1U << 20U; }},
      {"elements", [](MeshPart& part) { part.elements.resize(2); }},
      {"neighbours", [](MeshPart& part) { part.neighbors[0].part = part.number; }},
      {"neighbours", [](MeshPart& part) { part.neighbors[0].part = 9; }},
      {"neighbours", [](MeshPart& part) { std::swap(part.neighbors[0], part.neighbors[1]); }},
      {"neighbours", [](MeshPart& part) { part.neighbors[0].nodes.clear(); }},
      {"shared",
       [](MeshPart& part) { std::swap(part.neighbors[0].nodes[0], part.neighbors[0].nodes[1]); }},
      {"shared", [](MeshPart& part) { part.neighbors[0].nodes[0] = 1U << 20U; }},
      {"nodes",
       [](MeshPart& part) {
         // An inner node in the list of shared nodes.
         const auto inner = static_cast<std::uint32_t>(part.node_count() - 1);
         part.neighbors[0].nodes = {inner};
       }},
  };
  int number = 0;
  for (const Case& one : cases) {
    MeshPart part = test_mesh().parts[4];
    ASSERT_GE(part.neighbors.size(), 2U);
    one.change(part);
    const Result<MeshPart> found = round_trip(part);
    ASSERT_FALSE(found) << "case " << number;
    EXPECT_EQ(found.error().kind(), ErrorClass::kDamage);
    const std::string text = std::string("array ") + one.array + " of part 4";
    EXPECT_NE(found.error().cause().find(text), std::string::npos)
        << number << ' ' << found.error().cause();
    ++number;
  }
}

TEST(MeshIo, info_is_read_as_written_and_invalid_info_is_rejected) {
  run_thread_ranks(1, [](SolverComm& comm) {
    const auto read_back = [&](const MeshInfo& info) {
      MemoryStoreState state;
      const auto store = make_memory_store(state, comm);
      const std::unique_ptr<PartStepWriter> writer = store->begin_step(kMeshStep).value();
      EXPECT_TRUE(put_mesh_info(*writer, info));
      EXPECT_TRUE(writer->commit());
      const std::unique_ptr<PartStepReader> reader = store->open_step(kMeshStep).value();
      return get_mesh_info(*reader);
    };
    const Result<MeshInfo> found = read_back({3, 4, 5, 6});
    ASSERT_TRUE(found);
    EXPECT_EQ(found->parts, 3U);
    EXPECT_EQ(found->nodes, 4U);
    EXPECT_EQ(found->elements, 5U);
    EXPECT_EQ(found->seed, 6U);
    EXPECT_FALSE(read_back({0, 4, 5, 6}));
    EXPECT_FALSE(read_back({1ULL << 33U, 4, 5, 6}));
  });
}

}  // namespace
}  // namespace forebay::flow
