// SPDX-License-Identifier: Apache-2.0
// What every rung of the ladder computes: a profile becomes one in which the metrics of a
// specification are data, beside those that were there. It is what Forebay's remap computes, row by
// row and by one thread, so that rungs differ in memory and writing alone.
#pragma once

#include <forebay/error.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cube/remap_rows.hpp"

namespace forebay::bench::cube {

/// For one thread.
class Conversion {
 public:
  /// `input` is a path, `specification` a text.
  static Result<std::unique_ptr<Conversion>> open(const std::string& input,
                                                  const std::string& specification);

  /// Of the output, whose ids are their places.
  const std::vector<forebay::cube::RemapMetric>& metrics() const noexcept { return metrics_; }
  std::uint64_t row_bytes(std::size_t metric) const;
  /// anchor.xml of the output.
  std::string description() const;

  /// Fills `into`, row_bytes() long, with the row at `place` of the index of a metric.
  Status compute(std::size_t metric, std::size_t place, std::span<std::byte> into);

 private:
  explicit Conversion(forebay::cube::Profile profile) : profile_(std::move(profile)) {}
  Status plan(const std::string& specification);

  const forebay::cube::Profile profile_;
  std::unique_ptr<forebay::cube::RemapSource> source_;
  std::vector<forebay::cube::RemapMetric> metrics_;
  std::optional<forebay::cube::RowMaker> maker_;
};

}  // namespace forebay::bench::cube
