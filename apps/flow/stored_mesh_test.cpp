// SPDX-License-Identifier: Apache-2.0
#include "flow/stored_mesh.hpp"

#include <functional>
#include <limits>

#include <gtest/gtest.h>

#include "flow/memory_store.hpp"
#include "flow/testing.hpp"

namespace forebay::flow {
namespace {

using testing::CutMesh;

const CutMesh& parts_to_store() {
  static const CutMesh cut = CutMesh::of({.cells_across = 6, .cells_along = 12}, {.parts = 9});
  return cut;
}

MeshFacts some_facts() {
  return {9, parts_to_store().mesh.node_count(), parts_to_store().mesh.element_count(), 77};
}

/// What comes back of a part that was put.
Result<Part> stored(const Part& part, const MeshFacts& facts = some_facts()) {
  MemoryShelf shelf;
  Result<Part> found = part;
  run_as_threads(1, [&](Team& team) {
    const auto store = make_memory_store(shelf, team);
    const auto writer = store->begin_step(kMeshStep).value().release();
    const std::unique_ptr<StepWriter> owner(writer);
    EXPECT_TRUE(put_part(*writer, part));
    EXPECT_TRUE(writer->commit());
    const auto reader = store->open_step(kMeshStep);
    ASSERT_TRUE(reader);
    found = get_part(**reader, part.number, facts);
  });
  return found;
}

TEST(StoredMesh, every_part_comes_back_as_it_was) {
  for (const Part& part : parts_to_store().parts) {
    const Result<Part> found = stored(part);
    ASSERT_TRUE(found) << found.error().message();
    EXPECT_EQ(found->number, part.number);
    EXPECT_EQ(found->nodes, part.nodes);
    EXPECT_EQ(found->coordinates, part.coordinates);
    EXPECT_EQ(found->marks, part.marks);
    EXPECT_EQ(found->elements, part.elements);
    EXPECT_EQ(found->owned_shared_count, part.owned_shared_count);
    EXPECT_EQ(found->shared_count, part.shared_count);
    ASSERT_EQ(found->neighbours.size(), part.neighbours.size());
    for (std::size_t i = 0; i < part.neighbours.size(); ++i) {
      EXPECT_EQ(found->neighbours[i].part, part.neighbours[i].part);
      EXPECT_EQ(found->neighbours[i].nodes, part.neighbours[i].nodes);
    }
  }
}

TEST(StoredMesh, parts_that_mean_nothing_are_damage_and_say_which_array) {
  struct Case {
    const char* array;
    std::function<void(Part&)> change;
  };
  const std::vector<Case> cases{
      {"nodes", [](Part& part) { part.nodes.pop_back(); }},
      {"nodes", [](Part& part) { part.nodes.back() = 1U << 30U; }},
      {"nodes", [](Part& part) { part.coordinates.pop_back(); }},
      {"nodes", [](Part& part) { part.marks.pop_back(); }},
      {"nodes", [](Part& part) { part = Part{.number = part.number}; }},
      {"coordinates",
       [](Part& part) { part.coordinates[3][1] = std::numeric_limits<double>::quiet_NaN(); }},
      {"marks", [](Part& part) { part.marks[2] = static_cast<Mark>(4); }},
      {"elements", [](Part& part) { part.elements[5][2] = 1U << 20U; }},
      {"elements", [](Part& part) { part.elements.resize(2); }},
      {"neighbours", [](Part& part) { part.neighbours[0].part = part.number; }},
      {"neighbours", [](Part& part) { part.neighbours[0].part = 9; }},
      {"neighbours", [](Part& part) { std::swap(part.neighbours[0], part.neighbours[1]); }},
      {"neighbours", [](Part& part) { part.neighbours[0].nodes.clear(); }},
      {"shared",
       [](Part& part) { std::swap(part.neighbours[0].nodes[0], part.neighbours[0].nodes[1]); }},
      {"shared", [](Part& part) { part.neighbours[0].nodes[0] = 1U << 20U; }},
      {"nodes",
       [](Part& part) {
         // An inner node that is said to be shared.
         const auto inner = static_cast<std::uint32_t>(part.node_count() - 1);
         part.neighbours[0].nodes = {inner};
       }},
  };
  int number = 0;
  for (const Case& one : cases) {
    Part part = parts_to_store().parts[4];
    ASSERT_GE(part.neighbours.size(), 2U);
    one.change(part);
    const Result<Part> found = stored(part);
    ASSERT_FALSE(found) << "case " << number;
    EXPECT_EQ(found.error().kind(), ErrorClass::kDamage);
    const std::string text = std::string("array ") + one.array + " of part 4";
    EXPECT_NE(found.error().cause().find(text), std::string::npos)
        << number << ' ' << found.error().cause();
    ++number;
  }
}

TEST(StoredMesh, facts_come_back_and_impossible_ones_are_refused) {
  run_as_threads(1, [](Team& team) {
    const auto read_back = [&](const MeshFacts& facts) {
      MemoryShelf shelf;
      const auto store = make_memory_store(shelf, team);
      const std::unique_ptr<StepWriter> writer = store->begin_step(kMeshStep).value();
      EXPECT_TRUE(put_facts(*writer, facts));
      EXPECT_TRUE(writer->commit());
      const std::unique_ptr<StepReader> reader = store->open_step(kMeshStep).value();
      return get_facts(*reader);
    };
    const Result<MeshFacts> found = read_back({3, 4, 5, 6});
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
