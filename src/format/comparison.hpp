// SPDX-License-Identifier: Apache-2.0
// What comparing fields of parts and comparing global arrays have in common. For diff() only.
#pragma once

#include "format/diff.hpp"
#include "format/numbers.hpp"

namespace forebay::format {

/// Two steps, while they are compared.
struct Comparison {
  const StepCatalog& left;
  const StepCatalog& right;
  const DiffOptions& options;
  ReadProgress progress = {};
  DiffReport report = {};

  /// Blocks of which the checksums say that they are the same. Seeds have dataset and step in them:
  /// of others, checksums say nothing.
  bool have_same_checksum(const BlockPlace& in_left, const BlockPlace& in_right) const;
  /// So many bytes of the left step are done; kCancelled if nobody wants more.
  Status advance(std::uint64_t bytes);
  /// Adds what differs to that of the field, by name up to blocks_max.
  void add(const BlockDifference& difference, FieldDifference& field) const;
};

/// Takes the differences of a stretch of elements that begins at `first` into those of a block.
/// Stretches may come in any order.
void take_in(BlockDifference& block, const NumberDifference& found, std::uint64_t first);

/// A field that both steps have, defined alike: each part of one with the same one of the other.
Result<FieldDifference> compare_parts(Comparison& whole, const FieldDefinition& definition);

/// A global array that both steps have, defined alike, in any blocks that do not overlap.
Result<FieldDifference> compare_arrays(Comparison& whole, const FieldDefinition& definition);

}  // namespace forebay::format
