// SPDX-License-Identifier: Apache-2.0
// A part of a mesh: what one process has in most solvers. Here a rank may have many parts or none,
// and nothing about a part depends on the rank that computes it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace forebay::flow {

using Point = std::array<double, 3>;
/// The four nodes of a tetrahedron, in an order that gives it a positive volume.
using Tetrahedron = std::array<std::uint32_t, 4>;

/// Position of a node. On an edge between two kinds, the one that is listed first applies.
enum class BoundaryMarker : std::uint32_t { kInterior = 0, kInlet = 1, kWall = 2, kOutlet = 3 };

/// Nodes that two parts have in common.
struct Neighbor {
  std::uint32_t part = 0;
  /// Local node numbers, in ascending order of node numbers in the whole mesh, so both parts have
  /// the same order.
  std::vector<std::uint32_t> nodes;
};

/// Nodes are in three groups: shared and owned, shared and owned by another part, not shared. Each
/// group is in ascending order of node numbers in the whole mesh. The part with the lowest number
/// that has a shared node owns it.
struct MeshPart {
  std::uint32_t number = 0;
  std::vector<std::uint64_t> nodes;     ///< numbers in the whole mesh
  std::vector<Point> coordinates;       ///< of each node
  std::vector<BoundaryMarker> markers;  ///< of each node
  std::vector<Tetrahedron> elements;
  std::vector<Neighbor> neighbors;  ///< in ascending order of parts
  std::size_t owned_shared_count = 0;
  std::size_t shared_count = 0;

  std::size_t node_count() const noexcept { return nodes.size(); }
  std::size_t owned_count() const noexcept {
    return nodes.size() - (shared_count - owned_shared_count);
  }
};

}  // namespace forebay::flow
