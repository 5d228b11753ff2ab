// SPDX-License-Identifier: Apache-2.0
// From samples to one honest number: the median, and how far the samples lie apart. Everything a
// benchmark reports passes through here, so that no result can come without its spread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace forebay::bench {

/// What the two ends of a spread are.
enum class SpreadKind : std::uint8_t {
  kRange,      ///< smallest and largest sample: the only honest ends of few samples
  kQuartiles,  ///< 25 % and 75 %, from nine samples on
};

/// "range" or "quartiles".
const char* name_of(SpreadKind kind) noexcept;

struct Summary {
  double median = 0;
  double low = 0;
  double high = 0;
  std::size_t runs = 0;
  SpreadKind spread = SpreadKind::kRange;
};

/// The value below which a share `fraction` (0 ... 1) of the samples lies, interpolated between
/// neighbours (the definition of NumPy and R, type 7). `sorted` is ascending and not empty.
double quantile(std::span<const double> sorted, double fraction);

/// Median and spread. At least one sample, all of them finite.
Summary summarise(std::vector<double> samples);

/// One ratio for each round: over[i] / under[i]. Same length; nothing in `under` is 0.
std::vector<double> ratios(std::span<const double> over, std::span<const double> under);

/// One difference for each round: from[i] - what[i]. Same length.
std::vector<double> differences(std::span<const double> from, std::span<const double> what);

}  // namespace forebay::bench
