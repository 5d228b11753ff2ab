// SPDX-License-Identifier: Apache-2.0
// The parts of one rank, and vectors over all of their nodes. A vector is one array, part after
// part, so that operations on each node need no loop over parts.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "flow/mesh_part.hpp"
#include "flow/part_map.hpp"

namespace forebay::flow {

/// A value for each node of each part of a rank.
using Vector = std::vector<double>;

class PartSet {
 public:
  /// `parts` are those of `rank`, in ascending order of their numbers.
  PartSet(PartMap map, std::uint32_t rank, std::vector<MeshPart> parts);

  const PartMap& map() const noexcept { return map_; }
  std::uint32_t rank() const noexcept { return rank_; }
  const std::vector<MeshPart>& parts() const noexcept { return parts_; }
  std::size_t node_count() const noexcept { return offsets_.back(); }

  /// Index in a Vector of the first node of parts()[i].
  std::size_t first_node(std::size_t i) const { return offsets_[i]; }
  /// The values of `vector` for parts()[i].
  std::span<double> slice(std::span<double> vector, std::size_t i) const {
    return vector.subspan(offsets_[i], offsets_[i + 1] - offsets_[i]);
  }
  std::span<const double> slice(std::span<const double> vector, std::size_t i) const {
    return vector.subspan(offsets_[i], offsets_[i + 1] - offsets_[i]);
  }
  std::span<double> slice(Vector& vector, std::size_t i) const {
    return slice(std::span<double>(vector), i);
  }
  std::span<const double> slice(const Vector& vector, std::size_t i) const {
    return slice(std::span<const double>(vector), i);
  }
  /// As slice(), of an array with `width` consecutive values for each node.
  std::span<const double> rows(std::span<const double> values,
                               std::size_t width,
                               std::size_t i) const {
    return values.subspan(offsets_[i] * width, (offsets_[i + 1] - offsets_[i]) * width);
  }

 private:
  PartMap map_;
  std::uint32_t rank_;
  std::vector<MeshPart> parts_;
  std::vector<std::size_t> offsets_;  // of each part, and the end
};

}  // namespace forebay::flow
