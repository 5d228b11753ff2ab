// SPDX-License-Identifier: Apache-2.0
// The whole mesh as a function: nodes and tetrahedra of a box or a tube with a bulge, by number,
// without memory. So every rank can generate its own parts of a mesh of any size.
#pragma once

#include <forebay/error.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

#include "flow/mesh_part.hpp"

namespace forebay::flow {

enum class MeshShape : std::uint8_t { kTube, kBox };

struct MeshOptions {
  MeshShape shape = MeshShape::kTube;
  std::uint32_t cells_across = 12;  ///< in each of two directions
  std::uint32_t cells_along = 36;
  double grading = 0.5;  ///< 0: cells of equal length; below 1: denser in the middle and at walls
  std::uint64_t seed = 1;
};

inline constexpr std::size_t kElementsPerCell = 6;
inline constexpr double kTubeLength = 4;
inline constexpr double kTubeRadius = 0.5;  ///< away from the bulge; half the width of a box
inline constexpr std::size_t kElementsAroundMax = 8 * kElementsPerCell;

/// Elements around a node, in a list of fixed size.
struct ElementList {
  std::array<std::uint64_t, kElementsAroundMax> numbers{};
  std::size_t count = 0;
};

/// All calls are pure: any thread may call them, and results are the same on every machine.
class Mesh {
 public:
  /// Fails with kInvalidArgument if no mesh has these options.
  static Result<Mesh> create(const MeshOptions& options);

  const MeshOptions& options() const noexcept { return options_; }
  std::uint64_t node_count() const noexcept;
  std::uint64_t element_count() const noexcept;

  Point position(std::uint64_t node) const;
  BoundaryMarker marker(std::uint64_t node) const;
  std::array<std::uint64_t, 4> nodes_of(std::uint64_t element) const;
  Point centroid(std::uint64_t element) const;
  /// In ascending order.
  ElementList elements_around(std::uint64_t node) const;

 private:
  using Index = std::array<std::uint32_t, 3>;
  explicit Mesh(const MeshOptions& options) : options_(options) {}
  Index cells() const noexcept;
  Index index_of(std::uint64_t node) const;
  std::uint64_t node_at(const Index& index) const;
  /// Coordinates in the cube from -1 to 1.
  Point graded_coordinates(std::uint64_t node) const;

  MeshOptions options_;
};

}  // namespace forebay::flow
