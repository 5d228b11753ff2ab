// SPDX-License-Identifier: Apache-2.0
// Which rows of the input are going to be read, told before they are: rows of a dozen metrics are
// asked for in turn, from as many places of the file, where nobody reads ahead by himself.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cube/remap_metrics.hpp"
#include "cube/remap_rows.hpp"

namespace forebay::cube {

/// Thread-safe. Each row is told of once; one that is read again may be gone by then.
class InputForecast {
 public:
  /// `source` outlives it.
  explicit InputForecast(const RemapSource& source);

  /// Rows of `metric` from `first` in its index are computed soon. What is below their call paths
  /// is not told, unless it is for sure: it comes before or after by itself.
  void expect(const RemapMetric& metric, std::uint64_t first, std::uint64_t count);

 private:
  void expect_inputs(const FlavouredRow& which);

  const RemapSource& source_;
  const std::vector<std::size_t> inputs_;              // of expressions
  const std::vector<std::uint32_t> exclusive_places_;  // by row
  const std::vector<std::uint32_t> inclusive_places_;
  std::vector<std::atomic<bool>> told_;  // by metric and row
};

}  // namespace forebay::cube
