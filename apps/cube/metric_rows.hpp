// SPDX-License-Identifier: Apache-2.0
// Rows of measured metrics in both flavours: what the file has, and what is summed up or taken
// apart of it. Whole numbers stay whole numbers, so nothing above 2^53 is rounded on the way.
#pragma once

#include <forebay/error.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cube/profile.hpp"

namespace forebay::cube {

/// A row by its call path: exclusive is the call path alone, inclusive it and all below.
struct FlavouredRow {
  std::size_t metric = 0;                       ///< its place in the description
  std::uint32_t place = 0;                      ///< of the call path in the tree
  MetricKind flavour = MetricKind::kExclusive;  ///< kExclusive or kInclusive

  friend bool operator==(const FlavouredRow&, const FlavouredRow&) noexcept = default;
};

/// Memory of a thread that reads rows, used again and again.
struct FlavourScratch {
  RowScratch row;
  std::vector<std::byte> stored;  ///< a row as the file has it
  std::vector<std::int64_t> whole;
  std::vector<double> real;
};

/// Thread-safe; `profile` outlives it.
class MetricRows {
 public:
  explicit MetricRows(const Profile& profile);

  const Profile& profile() const noexcept { return profile_; }

  /// Whether the file says, without a look at values, that all of them are zero.
  bool is_zero(const FlavouredRow& which) const;

  /// The type of a metric's values in this flavour; the call path does not matter. 64 bits where
  /// whole numbers are summed up. Fails with kUnsupported, naming the metric, if values of its type
  /// cannot be, or are smallest or largest values, which cannot be taken apart.
  Result<ValueType> converted_type(const FlavouredRow& which) const;

  /// Calls `visit` with the number of each stored row that the row is made of.
  template <class Visit>
  void for_each_stored(const FlavouredRow& which, const Visit& visit) const {
    for (const Term& term : terms_of(which))
      visit(term.row);
  }

  /// A row of single numbers, one for each location. Fails with kUnsupported, naming the metric,
  /// for values of other types, and as converted_type() does.
  Status read_numbers(const FlavouredRow& which,
                      std::span<double> into,
                      FlavourScratch& scratch) const;

  /// A row in the flavour that the file does not have, as packed values of converted_type().
  Status read_converted(const FlavouredRow& which,
                        std::span<std::byte> into,
                        FlavourScratch& scratch) const;

 private:
  /// One stored row that takes part, and how.
  struct Term {
    std::uint32_t row;
    bool is_subtracted;
  };
  std::vector<Term> terms_of(const FlavouredRow& which) const;
  Status read_stored(const FlavouredRow& which,
                     std::span<double> into,
                     FlavourScratch& scratch) const;
  template <class Wide>
  Status join(const FlavouredRow& which, std::vector<Wide>& sum, FlavourScratch& scratch) const;

  const Profile& profile_;
  std::vector<std::uint32_t> ends_;            // of subtrees
  std::vector<std::uint32_t> exclusive_rows_;  // by place
  std::vector<std::uint32_t> inclusive_rows_;
};

}  // namespace forebay::cube
