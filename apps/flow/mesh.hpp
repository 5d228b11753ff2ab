// SPDX-License-Identifier: Apache-2.0
// The whole mesh as a function: nodes and tetrahedra of a box or a tube with a bulge, by number,
// without any memory. So every rank can make its own parts, however large the mesh is.
#pragma once

#include <forebay/error.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

#include "flow/part.hpp"

namespace forebay::flow {

enum class Shape : std::uint8_t { kTube, kBox };

struct MeshOptions {
  Shape shape = Shape::kTube;
  std::uint32_t cells_across = 12;  ///< in each of two directions
  std::uint32_t cells_along = 36;
  double grading = 0.5;  ///< 0: cells of equal length; below 1: denser in the middle and at walls
  std::uint64_t seed = 1;
};

inline constexpr std::size_t kElementsPerCell = 6;
inline constexpr double kTubeLength = 4;
inline constexpr double kTubeRadius = 0.5;  ///< away from the bulge; half the width of a box
inline constexpr std::size_t kElementsAroundMax = 8 * kElementsPerCell;

/// Elements around a node, a list of fixed size.
struct ElementList {
  std::array<std::uint64_t, kElementsAroundMax> numbers{};
  std::size_t count = 0;
};

/// All calls are pure: from any thread, and the same on every machine.
class Mesh {
 public:
  /// Fails with kInvalidArgument where the options give no mesh.
  static Result<Mesh> of(const MeshOptions& options);

  const MeshOptions& options() const noexcept { return options_; }
  std::uint64_t node_count() const noexcept;
  std::uint64_t element_count() const noexcept;

  Point position(std::uint64_t node) const;
  Mark mark(std::uint64_t node) const;
  std::array<std::uint64_t, 4> nodes_of(std::uint64_t element) const;
  Point centre_of(std::uint64_t element) const;
  /// In rising order.
  ElementList elements_around(std::uint64_t node) const;

 private:
  using Index = std::array<std::uint32_t, 3>;
  explicit Mesh(const MeshOptions& options) : options_(options) {}
  Index cells() const noexcept;
  Index index_of(std::uint64_t node) const;
  std::uint64_t node_at(const Index& index) const;
  /// Place in the cube from -1 to 1.
  Point graded(std::uint64_t node) const;

  MeshOptions options_;
};

}  // namespace forebay::flow
