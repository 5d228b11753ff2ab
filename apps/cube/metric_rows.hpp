// SPDX-License-Identifier: Apache-2.0
// Rows of measured metrics in both flavors: as stored, or converted by sums and differences. Whole
// numbers are summed as integers, so values above 2^53 are not rounded.
#pragma once

#include <forebay/error.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cube/profile.hpp"

namespace forebay::cube {

/// A row, by call path. Exclusive is the call path alone, inclusive the call path and all below.
struct FlavoredRow {
  std::size_t metric = 0;                      ///< index in the description
  std::uint32_t call_path = 0;                 ///< index in the call tree
  MetricKind flavor = MetricKind::kExclusive;  ///< kExclusive or kInclusive

  friend bool operator==(const FlavoredRow&, const FlavoredRow&) noexcept = default;
};

/// Memory of a thread that reads rows; reused by every read.
struct FlavorScratch {
  RowScratch row;
  std::vector<std::byte> stored;  ///< a row as stored in the file
  std::vector<std::int64_t> integers;
  std::vector<double> doubles;
};

/// Thread-safe. `profile` must outlive the object.
class MetricRows {
 public:
  explicit MetricRows(const Profile& profile);

  const Profile& profile() const noexcept { return profile_; }

  /// Whether the index of the metric alone determines that all values of the row are zero.
  bool is_zero(const FlavoredRow& which) const;

  /// The type of a metric's values in this flavor; the call path has no effect. Sums of whole
  /// numbers have 64 bits. Fails with kUnsupported, naming the metric, if values of its type cannot
  /// be added, or are minima or maxima that would have to be subtracted.
  Result<ValueType> converted_type(const FlavoredRow& which) const;

  /// Calls `visit` with the number of each stored row that contributes to the row.
  template <class Visit>
  void for_each_stored(const FlavoredRow& which, const Visit& visit) const {
    for (const Term& term : terms_of(which))
      visit(term.row);
  }

  /// Reads a row of single numbers, one for each location. Fails with kUnsupported, naming the
  /// metric, for values of other types, and as converted_type() does.
  Status read_numbers(const FlavoredRow& which,
                      std::span<double> into,
                      FlavorScratch& scratch) const;

  /// Reads a row in the flavor that is not stored, as packed values of converted_type().
  Status read_converted(const FlavoredRow& which,
                        std::span<std::byte> into,
                        FlavorScratch& scratch) const;

 private:
  /// A stored row that contributes, and its sign.
  struct Term {
    std::uint32_t row;
    bool is_subtracted;
  };
  std::vector<Term> terms_of(const FlavoredRow& which) const;
  Status read_stored(const FlavoredRow& which,
                     std::span<double> into,
                     FlavorScratch& scratch) const;
  template <class Wide>
  Status combine(const FlavoredRow& which, std::vector<Wide>& sum, FlavorScratch& scratch) const;

  const Profile& profile_;
  std::vector<std::uint32_t> subtree_ends_;
  std::vector<std::uint32_t> exclusive_rows_;  // by index in the call tree
  std::vector<std::uint32_t> inclusive_rows_;
};

}  // namespace forebay::cube
