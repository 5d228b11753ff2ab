// SPDX-License-Identifier: Apache-2.0
#include "flow/sparse_matrix.hpp"

#include <algorithm>

namespace forebay::flow {

SparseMatrix::SparseMatrix(const MeshPart& part) {
  std::vector<std::vector<std::uint32_t>> columns(part.node_count());
  for (const Tetrahedron& element : part.elements) {
    for (const std::uint32_t row : element)
      columns[row].insert(columns[row].end(), element.begin(), element.end());
  }
  row_offsets_.push_back(0);
  for (std::vector<std::uint32_t>& row : columns) {
    std::ranges::sort(row);
    row.erase(std::ranges::unique(row).begin(), row.end());
    columns_.insert(columns_.end(), row.begin(), row.end());
    row_offsets_.push_back(columns_.size());
    std::vector<std::uint32_t>().swap(row);
  }
  values_.resize(columns_.size());
}

void SparseMatrix::clear() { std::ranges::fill(values_, 0.0); }

std::size_t SparseMatrix::entry_index(std::uint32_t row, std::uint32_t column) const {
  const auto first = columns_.begin() + static_cast<std::ptrdiff_t>(row_offsets_[row]);
  const auto end = columns_.begin() + static_cast<std::ptrdiff_t>(row_offsets_[row + 1]);
  return static_cast<std::size_t>(std::lower_bound(first, end, column) - columns_.begin());
}

double SparseMatrix::at(std::uint32_t row, std::uint32_t column) const {
  const std::size_t place = entry_index(row, column);
  return place < row_offsets_[row + 1] && columns_[place] == column ? values_[place] : 0;
}

void SparseMatrix::multiply(RowRange rows,
                            std::span<const double> in,
                            std::span<double> out) const {
  for (std::size_t row = rows.first; row < rows.end; ++row) {
    double sum = 0;
    for (std::size_t place = row_offsets_[row]; place < row_offsets_[row + 1]; ++place)
      sum += values_[place] * in[columns_[place]];
    out[row] = sum;
  }
}

}  // namespace forebay::flow
