// SPDX-License-Identifier: Apache-2.0
// Which part each element of a mesh belongs to: recursive bisection by tilted planes, into parts
// whose sizes differ as much as is asked for. What solvers get from a graph partitioner, without
// one: parts of uneven size with irregular neighbours, the same for the same seed.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <span>
#include <vector>

#include "flow/mesh.hpp"

namespace forebay::flow {

struct PartitionOptions {
  std::uint32_t parts = 8;
  /// Largest part / mean part, less one, in elements; less where a few parts would have to be
  /// smaller than a fifth of the mean for it.
  double imbalance = 0.25;
  std::uint64_t seed = 1;
};

class Partition {
 public:
  /// Fails with kInvalidArgument where the mesh has too few elements for these parts.
  static Result<Partition> of(const Mesh& mesh, const PartitionOptions& options);

  std::uint32_t part_count() const noexcept {
    return static_cast<std::uint32_t>(first_.size() - 1);
  }
  std::uint32_t part_of(std::uint64_t element) const { return part_of_[element]; }
  /// In rising order.
  std::span<const std::uint64_t> elements_of(std::uint32_t part) const {
    return std::span(elements_).subspan(first_[part], first_[part + 1] - first_[part]);
  }

 private:
  Partition(std::vector<std::uint32_t> part_of, std::uint32_t part_count);

  std::vector<std::uint32_t> part_of_;
  std::vector<std::uint64_t> elements_;  // of part 0, then of part 1, ...
  std::vector<std::size_t> first_;       // where those of each part begin, and the end
};

/// Sizes relative to the mean, with the largest as `options` say; all if there is one part.
std::vector<double> draw_part_sizes(const PartitionOptions& options);

}  // namespace forebay::flow
