// SPDX-License-Identifier: Apache-2.0
// Assigns each element of a mesh to a part: recursive bisection by tilted planes, into parts of the
// requested imbalance. As a graph partitioner does, it makes parts of uneven size with irregular
// neighbors; the same seed makes the same parts.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <span>
#include <vector>

#include "flow/mesh.hpp"

namespace forebay::flow {

struct PartitionOptions {
  std::uint32_t parts = 8;
  /// Largest part / mean part, less one, in elements. Smaller if with few parts some would be below
  /// a fifth of the mean.
  double imbalance = 0.25;
  std::uint64_t seed = 1;
};

class Partition {
 public:
  /// Fails with kInvalidArgument if the mesh has too few elements for these parts.
  static Result<Partition> create(const Mesh& mesh, const PartitionOptions& options);

  std::uint32_t part_count() const noexcept {
    return static_cast<std::uint32_t>(offsets_.size() - 1);
  }
  std::uint32_t part_of(std::uint64_t element) const { return part_of_[element]; }
  /// In ascending order.
  std::span<const std::uint64_t> elements_of(std::uint32_t part) const {
    return std::span(elements_).subspan(offsets_[part], offsets_[part + 1] - offsets_[part]);
  }

 private:
  Partition(std::vector<std::uint32_t> part_of, std::uint32_t part_count);

  std::vector<std::uint32_t> part_of_;
  std::vector<std::uint64_t> elements_;  // of part 0, then of part 1, ...
  std::vector<std::size_t> offsets_;     // first index of each part, and the end
};

/// Sizes relative to the mean; the largest is 1 + options.imbalance, unless options.parts is 1.
std::vector<double> draw_part_sizes(const PartitionOptions& options);

}  // namespace forebay::flow
