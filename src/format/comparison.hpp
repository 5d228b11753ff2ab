// SPDX-License-Identifier: Apache-2.0
// Comparison: shared by the comparisons of parts and of global arrays. For diff() only.
#pragma once

#include "format/array_difference.hpp"
#include "format/diff.hpp"

namespace forebay::format {

/// Two steps, during a comparison.
struct Comparison {
  const StepCatalog& left;
  const StepCatalog& right;
  const DiffOptions& options;
  ReadProgress progress = {};
  DiffReport report = {};

  /// Whether checksums show that both blocks are equal. Seeds include dataset and step, so
  /// checksums of blocks with different ones cannot be compared: then false.
  bool has_equal_checksum(const BlockLocation& in_left, const BlockLocation& in_right) const;
  /// Adds bytes of the left step to the progress; kCancelled if the callback returns false.
  Status advance(std::uint64_t bytes);
  /// Adds a block's difference to that of the field; lists up to blocks_max of them.
  void add_difference(const BlockDifference& difference, FieldDifference& field) const;
};

/// Merges the differences of a range of elements that begins at `first` into those of a block.
/// Ranges may come in any order.
void merge_difference(BlockDifference& block, const ArrayDifference& found, std::uint64_t first);

/// Compares a field that both steps have with the same definition: each part with the same part.
Result<FieldDifference> compare_parts(Comparison& comparison, const FieldDefinition& definition);

/// Compares a global array that both steps have with the same definition, in any blocks without
/// overlap.
Result<FieldDifference> compare_arrays(Comparison& comparison, const FieldDefinition& definition);

}  // namespace forebay::format
