// SPDX-License-Identifier: Apache-2.0
// Medians, spreads and paired ratios.
#include "bench/frame/statistics.hpp"

#include <algorithm>
#include <cmath>

#include "base/assert.hpp"

namespace forebay::bench {
namespace {

constexpr std::size_t kQuartilesFromRuns = 9;

}  // namespace

const char* name_of(SpreadKind kind) noexcept {
  return kind == SpreadKind::kRange ? "range" : "quartiles";
}

double quantile(std::span<const double> sorted, double fraction) {
  FOREBAY_ASSERT(!sorted.empty());
  FOREBAY_ASSERT(fraction >= 0);
  FOREBAY_ASSERT(fraction <= 1);
  const double place = fraction * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], place - static_cast<double>(below));
}

Summary summarize(std::vector<double> samples) {
  FOREBAY_ASSERT(!samples.empty());
  for (const double sample : samples)
    FOREBAY_ASSERT(std::isfinite(sample));
  std::sort(samples.begin(), samples.end());
  const bool quartiles = samples.size() >= kQuartilesFromRuns;
  return {.median = quantile(samples, 0.5),
          .low = quartiles ? quantile(samples, 0.25) : samples.front(),
          .high = quartiles ? quantile(samples, 0.75) : samples.back(),
          .runs = samples.size(),
          .spread = quartiles ? SpreadKind::kQuartiles : SpreadKind::kRange};
}

std::vector<double> ratios(std::span<const double> over, std::span<const double> under) {
  FOREBAY_ASSERT(over.size() == under.size());
  std::vector<double> result(over.size());
  for (std::size_t i = 0; i < over.size(); ++i) {
    FOREBAY_ASSERT(under[i] != 0);
    result[i] = over[i] / under[i];
  }
  return result;
}

std::vector<double> differences(std::span<const double> from, std::span<const double> what) {
  FOREBAY_ASSERT(from.size() == what.size());
  std::vector<double> result(from.size());
  for (std::size_t i = 0; i < from.size(); ++i)
    result[i] = from[i] - what[i];
  return result;
}

}  // namespace forebay::bench
