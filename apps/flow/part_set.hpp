// SPDX-License-Identifier: Apache-2.0
// The parts of one rank, and vectors over all of their nodes: one array, part behind part, so that
// what is done to each node needs no loop over parts.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "flow/part.hpp"
#include "flow/part_map.hpp"

namespace forebay::flow {

/// A value for each node of each part of a rank.
using Vector = std::vector<double>;

class PartSet {
 public:
  /// `parts` are those of `rank`, in rising order of their numbers.
  PartSet(PartMap map, std::uint32_t rank, std::vector<Part> parts);

  const PartMap& map() const noexcept { return map_; }
  std::uint32_t rank() const noexcept { return rank_; }
  const std::vector<Part>& parts() const noexcept { return parts_; }
  std::size_t node_count() const noexcept { return first_.back(); }

  /// Where the nodes of the i-th of parts() begin in a Vector.
  std::size_t first_of(std::size_t i) const { return first_[i]; }
  /// The piece of `vector` that belongs to the i-th of parts().
  std::span<double> piece(std::span<double> vector, std::size_t i) const {
    return vector.subspan(first_[i], first_[i + 1] - first_[i]);
  }
  std::span<const double> piece(std::span<const double> vector, std::size_t i) const {
    return vector.subspan(first_[i], first_[i + 1] - first_[i]);
  }
  std::span<double> piece(Vector& vector, std::size_t i) const {
    return piece(std::span<double>(vector), i);
  }
  std::span<const double> piece(const Vector& vector, std::size_t i) const {
    return piece(std::span<const double>(vector), i);
  }
  /// The same of an array that has `width` values for each node, those of a node together.
  std::span<const double> rows(std::span<const double> all,
                               std::size_t width,
                               std::size_t i) const {
    return all.subspan(first_[i] * width, (first_[i + 1] - first_[i]) * width);
  }

 private:
  PartMap map_;
  std::uint32_t rank_;
  std::vector<Part> parts_;
  std::vector<std::size_t> first_;  // of each part, and the end
};

}  // namespace forebay::flow
