// SPDX-License-Identifier: Apache-2.0
#include "flow/mesh.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "flow/element.hpp"
#include "flow/fingerprint.hpp"

namespace forebay::flow {
namespace {

double volume_of(const Mesh& mesh, std::uint64_t element) {
  Corners corners;
  const auto nodes = mesh.nodes_of(element);
  for (std::size_t i = 0; i < corners.size(); ++i)
    corners[i] = mesh.position(nodes[i]);
  return ElementShape::from_corners(corners).volume;
}

const std::vector<MeshOptions> kMeshes{
    {.shape = MeshShape::kBox, .cells_across = 5, .cells_along = 7, .grading = 0.9, .seed = 3},
    {.shape = MeshShape::kTube, .cells_across = 6, .cells_along = 20, .grading = 0.5, .seed = 4},
    {.shape = MeshShape::kTube, .cells_across = 9, .cells_along = 30, .grading = 0.9, .seed = 5},
    {.shape = MeshShape::kTube, .cells_across = 1, .cells_along = 1, .grading = 0, .seed = 6}};

TEST(Mesh, every_tetrahedron_has_a_positive_volume) {
  for (const MeshOptions& options : kMeshes) {
    const Mesh mesh = Mesh::create(options).value();
    double least = 1;
    for (std::uint64_t element = 0; element < mesh.element_count(); ++element)
      least = std::min(least, volume_of(mesh, element));
    EXPECT_GT(least, 0) << options.seed;
  }
}

TEST(Mesh, tetrahedra_fill_the_box) {
  const Mesh mesh = Mesh::create(kMeshes.front()).value();
  double sum = 0;
  for (std::uint64_t element = 0; element < mesh.element_count(); ++element)
    sum += volume_of(mesh, element);
  EXPECT_NEAR(sum, 4 * kTubeRadius * kTubeRadius * kTubeLength, 1e-12);
}

/// The three of four nodes that are not `left_out`.
std::array<std::uint64_t, 3> face_without(const std::array<std::uint64_t, 4>& nodes,
                                          std::uint64_t left_out) {
  std::array<std::uint64_t, 3> face{};
  std::ranges::remove_copy(nodes, face.begin(), left_out);
  return face;
}

TEST(Mesh, every_inner_face_belongs_to_two_tetrahedra) {
  const Mesh mesh = Mesh::create(kMeshes[1]).value();
  std::map<std::array<std::uint64_t, 3>, int> faces;
  for (std::uint64_t element = 0; element < mesh.element_count(); ++element) {
    auto nodes = mesh.nodes_of(element);
    std::ranges::sort(nodes);
    for (const std::uint64_t left_out : nodes)
      ++faces[face_without(nodes, left_out)];
  }
  for (const auto& [face, count] : faces) {
    const bool is_inside = std::ranges::any_of(
        face, [&](std::uint64_t node) { return mesh.marker(node) == BoundaryMarker::kInterior; });
    EXPECT_GE(count, is_inside ? 2 : 1);
    EXPECT_LE(count, 2);
  }
}

TEST(Mesh, elements_around_lists_all_elements_of_a_node) {
  for (const MeshOptions& options : kMeshes) {
    const Mesh mesh = Mesh::create(options).value();
    std::vector<std::vector<std::uint64_t>> wanted(mesh.node_count());
    for (std::uint64_t element = 0; element < mesh.element_count(); ++element) {
      for (const std::uint64_t node : mesh.nodes_of(element))
        wanted.at(node).push_back(element);
    }
    for (std::uint64_t node = 0; node < mesh.node_count(); ++node) {
      const ElementList found = mesh.elements_around(node);
      const std::vector<std::uint64_t> numbers(
          found.numbers.begin(), found.numbers.begin() + static_cast<std::ptrdiff_t>(found.count));
      EXPECT_EQ(numbers, wanted[node]);
    }
  }
}

TEST(Mesh, grading_makes_the_middle_denser) {
  const Mesh mesh = Mesh::create(kMeshes[1]).value();
  std::uint64_t inside = 0;
  for (std::uint64_t element = 0; element < mesh.element_count(); ++element) {
    const double along = mesh.centroid(element)[2] / kTubeLength;
    inside += along > 0.375 && along < 0.625 ? 1 : 0;
  }
  // A quarter of the length.
  EXPECT_GT(static_cast<double>(inside), 0.4 * static_cast<double>(mesh.element_count()));
}

TEST(Mesh, inner_positions_depend_on_the_seed) {
  std::set<std::uint64_t> hashes;
  for (const MeshOptions& options : kMeshes) {
    const Mesh mesh = Mesh::create(options).value();
    Fingerprint hash;
    for (std::uint64_t node = 0; node < mesh.node_count(); ++node) {
      const Point place = mesh.position(node);
      hash.add(std::as_bytes(std::span(place)));
    }
    hashes.insert(hash.value());
  }
  EXPECT_EQ(hashes.size(), kMeshes.size());
  MeshOptions options = kMeshes[1];
  const Mesh first = Mesh::create(options).value();
  options.seed += 1;
  const Mesh other = Mesh::create(options).value();
  std::uint64_t moved = 0;
  for (std::uint64_t node = 0; node < first.node_count(); ++node)
    moved += first.position(node) != other.position(node) ? 1 : 0;
  // All inner nodes, and no other.
  EXPECT_EQ(moved, 5U * 5U * 19U);
}

TEST(Mesh, invalid_options_are_rejected) {
  EXPECT_FALSE(Mesh::create({.cells_across = 0}));
  EXPECT_FALSE(Mesh::create({.cells_along = 1U << 20U}));
  EXPECT_FALSE(Mesh::create({.grading = 1}));
  EXPECT_FALSE(Mesh::create({.grading = -0.1}));
}

}  // namespace
}  // namespace forebay::flow
