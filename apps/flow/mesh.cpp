// SPDX-License-Identifier: Apache-2.0
#include "flow/mesh.hpp"

#include <algorithm>
#include <cmath>

#include "command/random.hpp"

namespace forebay::flow {

namespace {

/// Largest displacement of an inner node, in cells. Below 1/6 no tetrahedron can be inverted.
constexpr double kJitterCells = 0.12;
/// How much wider the tube is in the middle, and over which part of its length.
constexpr double kBulge = 0.6;
constexpr double kBulgeLength = 0.3;
/// Roundness of a tube: 1 is a circle, whose tetrahedra in the corners of the box would be flat.
constexpr double kRoundness = 0.8;
/// Keeps numbers of nodes and elements far from overflow, also those of a part's nodes.
constexpr std::uint32_t kCellsMax = 1U << 16U;

/// The paths along the axes from one corner of a cell to the opposite one: a tetrahedron each.
constexpr std::array<std::array<std::uint8_t, 3>, kElementsPerCell> kPaths{
    {{0, 1, 2}, {1, 2, 0}, {2, 0, 1}, {0, 2, 1}, {2, 1, 0}, {1, 0, 2}}};

bool is_even(std::size_t path) { return path < 3; }

/// Maps [-1, 1] to itself, denser around 0.
double dense_inside(double x, double grading) { return x * (1 - grading) + grading * x * x * x; }

/// Maps [-1, 1] to itself, denser at both ends.
double dense_at_ends(double x, double grading) {
  const double third = grading / 3;
  return x * (1 + third) - third * x * x * x;
}

/// Moves a point of the square towards the circle.
std::array<double, 2> square_to_disk(double x, double y) {
  const double round_x = x * std::sqrt(1 - y * y / 2);
  const double round_y = y * std::sqrt(1 - x * x / 2);
  return {x + kRoundness * (round_x - x), y + kRoundness * (round_y - y)};
}

}  // namespace

Result<Mesh> Mesh::create(const MeshOptions& options) {
  const std::uint32_t least = std::min(options.cells_across, options.cells_along);
  const std::uint32_t most = std::max(options.cells_across, options.cells_along);
  const bool can_be_graded = options.grading >= 0 && options.grading < 1;
  if (least >= 1 && most <= kCellsMax && can_be_graded) return Mesh(options);
  return failure({.kind = ErrorClass::kInvalidArgument,
                  .operation = "make mesh",
                  .cause = "the mesh must have 1 to 65536 cells in each direction and a grading "
                           "from 0 to below 1"});
}

Mesh::Index Mesh::cells() const noexcept {
  return {options_.cells_across, options_.cells_across, options_.cells_along};
}

std::uint64_t Mesh::node_count() const noexcept {
  const std::uint64_t across = std::uint64_t{options_.cells_across} + 1;
  return across * across * (std::uint64_t{options_.cells_along} + 1);
}

std::uint64_t Mesh::element_count() const noexcept {
  const std::uint64_t across = options_.cells_across;
  return across * across * options_.cells_along * kElementsPerCell;
}

Mesh::Index Mesh::index_of(std::uint64_t node) const {
  const std::uint64_t across = std::uint64_t{options_.cells_across} + 1;
  return {static_cast<std::uint32_t>(node % across),
          static_cast<std::uint32_t>(node / across % across),
          static_cast<std::uint32_t>(node / across / across)};
}

std::uint64_t Mesh::node_at(const Index& index) const {
  const std::uint64_t across = std::uint64_t{options_.cells_across} + 1;
  return (index[2] * across + index[1]) * across + index[0];
}

BoundaryMarker Mesh::marker(std::uint64_t node) const {
  const Index index = index_of(node);
  const auto is_at_wall = [&](std::uint32_t i) { return i == 0 || i == options_.cells_across; };
  if (index[2] == 0) return BoundaryMarker::kInlet;
  if (is_at_wall(index[0]) || is_at_wall(index[1])) return BoundaryMarker::kWall;
  return index[2] == options_.cells_along ? BoundaryMarker::kOutlet : BoundaryMarker::kInterior;
}

Point Mesh::graded_coordinates(std::uint64_t node) const {
  const Index index = index_of(node);
  const Index count = cells();
  const bool is_inside = marker(node) == BoundaryMarker::kInterior;
  command::Random random(options_.seed, node);
  Point place{};
  for (std::size_t axis = 0; axis < place.size(); ++axis) {
    const double moved = index[axis] + (is_inside ? kJitterCells * random.symmetric() : 0);
    place[axis] = 2 * moved / count[axis] - 1;
  }
  return {dense_at_ends(place[0], options_.grading), dense_at_ends(place[1], options_.grading),
          dense_inside(place[2], options_.grading)};
}

Point Mesh::position(std::uint64_t node) const {
  const Point place = graded_coordinates(node);
  const double along = kTubeLength * (place[2] + 1) / 2;
  if (options_.shape == MeshShape::kBox) {
    return {kTubeRadius * place[0], kTubeRadius * place[1], along};
  }
  const double off_middle = place[2] / kBulgeLength;
  const double radius = kTubeRadius * (1 + kBulge / (1 + off_middle * off_middle));
  const auto [x, y] = square_to_disk(place[0], place[1]);
  return {radius * x, radius * y, along};
}

std::array<std::uint64_t, 4> Mesh::nodes_of(std::uint64_t element) const {
  const std::uint64_t cell = element / kElementsPerCell;
  const std::size_t path = element % kElementsPerCell;
  const std::uint64_t across = options_.cells_across;
  Index corner{static_cast<std::uint32_t>(cell % across),
               static_cast<std::uint32_t>(cell / across % across),
               static_cast<std::uint32_t>(cell / across / across)};
  std::array<std::uint64_t, 4> nodes{node_at(corner)};
  for (std::size_t step = 0; step < kPaths[path].size(); ++step) {
    ++corner[kPaths[path][step]];
    nodes[step + 1] = node_at(corner);
  }
  if (!is_even(path)) std::swap(nodes[2], nodes[3]);
  return nodes;
}

Point Mesh::centroid(std::uint64_t element) const {
  Point center{};
  for (const std::uint64_t node : nodes_of(element)) {
    const Point place = position(node);
    for (std::size_t axis = 0; axis < center.size(); ++axis)
      center[axis] += place[axis] / 4;
  }
  return center;
}

ElementList Mesh::elements_around(std::uint64_t node) const {
  const Index index = index_of(node);
  const Index count = cells();
  ElementList found;
  const auto add_cell = [&](const Index& cell) {
    const std::uint64_t across = options_.cells_across;
    const std::uint64_t first =
        ((cell[2] * across + cell[1]) * across + cell[0]) * kElementsPerCell;
    for (std::uint64_t element = first; element < first + kElementsPerCell; ++element) {
      if (std::ranges::count(nodes_of(element), node) > 0) found.numbers[found.count++] = element;
    }
  };
  for (std::uint32_t corner = 0; corner < 8; ++corner) {
    // Cells before and behind the node, in ascending order of their numbers.
    const Index behind{corner & 1U, corner >> 1U & 1U, corner >> 2U};
    Index cell{};
    bool is_valid = true;
    for (std::size_t axis = 0; axis < cell.size(); ++axis) {
      is_valid = is_valid && index[axis] + behind[axis] >= 1;
      cell[axis] = index[axis] + behind[axis] - 1;
      is_valid = is_valid && cell[axis] < count[axis];
    }
    if (is_valid) add_cell(cell);
  }
  return found;
}

}  // namespace forebay::flow
