// SPDX-License-Identifier: Apache-2.0
// A part of a mesh: what one solver process of the usual kind owns. Here a rank may have many, or
// none, and everything about a part is independent of where it is computed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace forebay::flow {

using Point = std::array<double, 3>;
/// The four nodes of a tetrahedron, in an order that gives it a positive volume.
using Tetrahedron = std::array<std::uint32_t, 4>;

/// Where a node lies. A node on the edge of two is of the one that is named first here.
enum class Mark : std::uint32_t { kInside = 0, kInlet = 1, kWall = 2, kOutlet = 3 };

/// Nodes that two parts have in common.
struct Neighbour {
  std::uint32_t part = 0;
  /// In this part's numbers, in rising order of their numbers in the whole mesh: both parts have
  /// the same order.
  std::vector<std::uint32_t> nodes;
};

/// Nodes come in three groups: shared and owned, shared and owned by another, not shared. Inside a
/// group they are in rising order of their numbers in the whole mesh. A shared node is owned by the
/// lowest part that has it.
struct Part {
  std::uint32_t number = 0;
  std::vector<std::uint64_t> nodes;  ///< numbers in the whole mesh
  std::vector<Point> coordinates;    ///< of each node
  std::vector<Mark> marks;           ///< of each node
  std::vector<Tetrahedron> elements;
  std::vector<Neighbour> neighbours;  ///< in rising order of parts
  std::size_t owned_shared_count = 0;
  std::size_t shared_count = 0;

  std::size_t node_count() const noexcept { return nodes.size(); }
  std::size_t owned_count() const noexcept {
    return nodes.size() - (shared_count - owned_shared_count);
  }
};

}  // namespace forebay::flow
