// SPDX-License-Identifier: Apache-2.0
// diff(): compares two steps of one or two datasets: which fields and blocks differ, and by how
// much.
#pragma once

#include "format/catalog.hpp"
#include "format/read_progress.hpp"

namespace forebay::format {

/// Kind of a difference between fields.
enum class DifferenceKind : std::uint8_t {
  kOnlyLeft,
  kOnlyRight,
  kDefinition,  ///< another type, byte order, kind or shape
  kValues,
};

/// A part, or a block of a global array, that differs.
struct BlockDifference {
  enum class Kind : std::uint8_t { kOnlyLeft, kOnlyRight, kShape, kValues };
  Kind kind = Kind::kValues;
  std::uint64_t key = 0;
  std::uint64_t elements = 0;       ///< number of differing ones
  std::uint64_t first_element = 0;  ///< first differing one, counted in the block
  double absolute_max = 0;          ///< largest |left - right|; NaN against a number: infinity
  double relative_max = 0;          ///< largest |left - right| / max(|left|, |right|)
};

struct FieldDifference {
  std::string name = {};
  DifferenceKind kind = DifferenceKind::kValues;
  std::vector<BlockDifference> blocks = {};  ///< of kValues; at most DiffOptions::blocks_max
  std::uint64_t differing_blocks = 0;
  double absolute_max = 0;
  double relative_max = 0;
};

/// An attribute that one step lacks, or whose values differ.
struct AttributeDifference {
  AttributeKey key = {};
  std::optional<AttributeValue> left = {};
  std::optional<AttributeValue> right = {};
};

/// Bytes of the left step held in memory for a global array with different blocks.
inline constexpr std::uint64_t kDiffBatchBytes = 128_MiB;

struct DiffOptions {
  std::size_t blocks_max = 1000;
  /// Only these fields and their attributes; if empty, all fields and all attributes.
  std::vector<std::string> fields = {};
  /// Counts bytes of the left step.
  ProgressCallback progress = {};
  /// With less, blocks of the right step are read more often.
  std::uint64_t batch_bytes = kDiffBatchBytes;
};

struct DiffReport {
  std::vector<FieldDifference> fields = {};  ///< by name; without equal ones
  std::vector<AttributeDifference> attributes = {};
  std::uint64_t fields_compared = 0;
  std::uint64_t blocks_compared = 0;
  /// Of these: not read, because checksums were comparable.
  std::uint64_t blocks_matched_by_checksum = 0;
  std::uint64_t blocks_read = 0;  ///< of both steps, each time a block was read
};

/// Blocks of the same dataset and step number have comparable checksums, and equal ones are not
/// read. All others are read and verified. Global arrays may have different blocks on both sides.
/// Left blocks are held in memory, batch_bytes of them or a single larger one. Each right block
/// that has elements of these is read once for all of them, one at a time. Errors are those of
/// reading, or kCancelled. A step with a damaged index is not compared, nor a field of which two
/// blocks have the same elements (kDamage, see check_no_overlap()). Blocks.
Result<DiffReport> diff(const StepCatalog& left,
                        const StepCatalog& right,
                        const DiffOptions& options = {});

}  // namespace forebay::format
