// SPDX-License-Identifier: Apache-2.0
// The matrix of one part: rows of its nodes, compressed. Which entries there are follows from the
// elements once; their values are formed in every step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "flow/part.hpp"

namespace forebay::flow {

struct RowRange {
  std::size_t first = 0;
  std::size_t end = 0;
};

class SparseMatrix {
 public:
  /// An entry, zero, for each pair of nodes of an element.
  explicit SparseMatrix(const Part& part);

  std::size_t row_count() const noexcept { return row_first_.size() - 1; }
  void clear();
  /// The entry must be there.
  void add(std::uint32_t row, std::uint32_t column, double value) {
    values_[place_of(row, column)] += value;
  }
  /// 0 where there is no entry.
  double at(std::uint32_t row, std::uint32_t column) const;
  double diagonal(std::uint32_t row) const { return values_[place_of(row, row)]; }

  /// out[row] = the row times `in`, for some rows; entries are added from left to right.
  void multiply(RowRange rows, std::span<const double> in, std::span<double> out) const;

 private:
  std::size_t place_of(std::uint32_t row, std::uint32_t column) const;

  std::vector<std::size_t> row_first_;
  std::vector<std::uint32_t> columns_;  // rising within a row
  std::vector<double> values_;
};

}  // namespace forebay::flow
