// SPDX-License-Identifier: Apache-2.0
// Summarizes samples as a median and a spread. Every reported number passes through here, so no
// result lacks its spread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace forebay::bench {

/// Meaning of the two ends of a spread.
enum class SpreadKind : std::uint8_t {
  kRange,      ///< smallest and largest sample: the only valid ends of few samples
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

/// The value below which a fraction `fraction` (0 ... 1) of the samples lies, interpolated between
/// adjacent samples (the definition of NumPy and R, type 7). `sorted` is ascending and not empty.
double quantile(std::span<const double> sorted, double fraction);

/// Median and spread. Requires one or more samples, all of them finite.
Summary summarize(std::vector<double> samples);

/// One ratio for each round: over[i] / under[i]. Same length; `under` has no 0.
std::vector<double> ratios(std::span<const double> over, std::span<const double> under);

/// One difference for each round: from[i] - what[i]. Same length.
std::vector<double> differences(std::span<const double> from, std::span<const double> what);

}  // namespace forebay::bench
