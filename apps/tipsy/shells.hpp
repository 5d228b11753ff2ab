// SPDX-License-Identifier: Apache-2.0
// Logarithmic shells around a centre, and the question asked once for each particle: which shell is
// it in? Answered by a table over the leading bits of the squared radius, without a logarithm.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace forebay::tipsy {

class Shells {
 public:
  /// `count` shells from `inner` to `outer` radius; 0 < inner < outer, both finite.
  Shells(double inner, double outer, std::size_t count);

  std::size_t count() const { return edges_.size() - 1; }
  /// Slots a histogram needs: one for what is inside all shells, one for each, one for outside.
  std::size_t slot_count() const { return edges_.size() + 1; }
  double inner_edge(std::size_t shell) const { return edges_[shell]; }
  double outer_edge(std::size_t shell) const { return edges_[shell + 1]; }

  /// 0 inside; 1 + shell where inner_edge <= radius < outer_edge; count() + 1 outside (and for
  /// NaN).
  std::size_t slot_of(double radius_squared) const {
    if (radius_squared < squares_.front()) return 0;
    if (!(radius_squared < squares_.back())) return count() + 1;
    std::size_t slot = first_slots_[key_of(radius_squared) - first_key_];
    while (radius_squared >= squares_[slot])
      ++slot;
    return slot;
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
  std::vector<std::uint32_t> first_slots_;
};

}  // namespace forebay::tipsy
