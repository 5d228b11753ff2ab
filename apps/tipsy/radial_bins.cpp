// SPDX-License-Identifier: Apache-2.0
#include "tipsy/radial_bins.hpp"

#include <bit>
#include <cmath>

namespace forebay::tipsy {

RadialBins::RadialBins(double inner, double outer, std::size_t count) {
  const double ratio = std::log(outer / inner) / static_cast<double>(count);
  for (std::size_t i = 0; i <= count; ++i) {
    const double edge = inner * std::exp(ratio * static_cast<double>(i));
    edges_.push_back(i == count ? outer : edge);
    squares_.push_back(edges_.back() * edges_.back());
  }
  first_key_ = key_of(squares_.front());
  std::size_t bin = 0;
  for (std::uint64_t key = first_key_; key <= key_of(squares_.back()); ++key) {
    const auto least = std::bit_cast<double>(key << kKeyShift);
    while (bin < count && least >= squares_[bin])
      ++bin;
    first_bins_.push_back(static_cast<std::uint32_t>(bin));
  }
}

}  // namespace forebay::tipsy
