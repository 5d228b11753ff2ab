// SPDX-License-Identifier: Apache-2.0
// The conversion that every stage computes: in the output, the metrics of a specification are data,
// beside those of the input. It equals the remap of Forebay, row by row on one thread, so that
// stages differ only in memory and writing.
#pragma once

#include <forebay/error.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cube/remap_context.hpp"

namespace forebay::bench::cube {

/// For one thread.
class Conversion {
 public:
  /// `input` is a path, `specification` the text of a specification.
  static Result<std::unique_ptr<Conversion>> open(const std::string& input,
                                                  const std::string& specification);

  /// The metrics of the output; their ids are their indices.
  const std::vector<forebay::cube::RemapMetric>& metrics() const noexcept { return metrics_; }
  std::uint64_t row_bytes(std::size_t metric) const;
  /// Returns anchor.xml of the output.
  std::string description() const;

  /// Fills `into`, of row_bytes(), with row `row_number` of the index of a metric.
  Status compute(std::size_t metric, std::size_t row_number, std::span<std::byte> into);

 private:
  explicit Conversion(forebay::cube::Profile profile) : profile_(std::move(profile)) {}
  Status plan(const std::string& specification);

  const forebay::cube::Profile profile_;
  std::unique_ptr<forebay::cube::RemapContext> source_;
  std::vector<forebay::cube::RemapMetric> metrics_;
  std::optional<forebay::cube::RowBuilder> builder_;
};

}  // namespace forebay::bench::cube
