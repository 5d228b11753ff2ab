// SPDX-License-Identifier: Apache-2.0
// Logarithmic shells around a center, and the shell of each particle. The shell is found without a
// logarithm, by a table over the leading bits of the squared radius.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace forebay::tipsy {

class RadialBins {
 public:
  /// `count` shells from `inner` to `outer` radius; 0 < inner < outer, both finite.
  RadialBins(double inner, double outer, std::size_t count);

  std::size_t count() const { return edges_.size() - 1; }
  /// Bins of a histogram: one inside all shells, one for each shell, one outside.
  std::size_t bin_count() const { return edges_.size() + 1; }
  double inner_edge(std::size_t shell) const { return edges_[shell]; }
  double outer_edge(std::size_t shell) const { return edges_[shell + 1]; }

  /// 0 inside; 1 + shell if inner_edge <= radius < outer_edge; count() + 1 outside, and for NaN.
  std::size_t bin_of(double radius_squared) const {
    if (radius_squared < squares_.front()) return 0;
    if (!(radius_squared < squares_.back())) return count() + 1;
    std::size_t bin = first_bins_[key_of(radius_squared) - first_key_];
    while (radius_squared >= squares_[bin])
      ++bin;
    return bin;
  }

 private:
  /// The table has a cell for each exponent and leading 6 bits of the mantissa: 1.6 % wide or less.
  static constexpr unsigned kKeyShift = 52 - 6;
  static std::uint64_t key_of(double value) {
    return std::bit_cast<std::uint64_t>(value) >> kKeyShift;
  }

  std::vector<double> edges_;
  std::vector<double> squares_;
  std::uint64_t first_key_ = 0;
  std::vector<std::uint32_t> first_bins_;
};

}  // namespace forebay::tipsy
