// SPDX-License-Identifier: Apache-2.0
// The matrix of one part: compressed rows of its nodes. The sparsity pattern is computed once from
// the elements; the values are formed in each step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "flow/mesh_part.hpp"

namespace forebay::flow {

struct RowRange {
  std::size_t first = 0;
  std::size_t end = 0;
};

class SparseMatrix {
 public:
  /// An entry, zero, for each pair of nodes of an element.
  explicit SparseMatrix(const MeshPart& part);

  std::size_t row_count() const noexcept { return row_offsets_.size() - 1; }
  void clear();
  /// Requires that the entry exists.
  void add(std::uint32_t row, std::uint32_t column, double value) {
    values_[entry_index(row, column)] += value;
  }
  /// 0 if the entry does not exist.
  double at(std::uint32_t row, std::uint32_t column) const;
  double diagonal(std::uint32_t row) const { return values_[entry_index(row, row)]; }

  /// out[row] = row times `in`, for each row of `rows`; entries are added from left to right.
  void multiply(RowRange rows, std::span<const double> in, std::span<double> out) const;

 private:
  std::size_t entry_index(std::uint32_t row, std::uint32_t column) const;

  std::vector<std::size_t> row_offsets_;
  std::vector<std::uint32_t> columns_;  // ascending within a row
  std::vector<double> values_;
};

}  // namespace forebay::flow
