// SPDX-License-Identifier: Apache-2.0
// Compares two steps, of one dataset or of two: which fields and blocks differ, and by how much.
#pragma once

#include "format/catalog.hpp"
#include "format/read_progress.hpp"

namespace forebay::format {

/// What is different about a field.
enum class DifferenceKind : std::uint8_t {
  kOnlyLeft,
  kOnlyRight,
  kDefinition,  ///< another type, byte order, kind or shape
  kValues,
};

/// A part, or a box of a global array, that differs.
struct BlockDifference {
  enum class Kind : std::uint8_t { kOnlyLeft, kOnlyRight, kShape, kValues };
  Kind kind = Kind::kValues;
  std::uint64_t key = 0;
  std::uint64_t elements = 0;       ///< that differ
  std::uint64_t first_element = 0;  ///< that differs, counted in the block
  double absolute_max = 0;          ///< largest |left - right|; NaN against a number: infinity
  double relative_max = 0;          ///< largest |left - right| / max(|left|, |right|)
};

struct FieldDifference {
  std::string name = {};
  DifferenceKind kind = DifferenceKind::kValues;
  std::vector<BlockDifference> blocks = {};  ///< of kValues; at most DiffOptions::blocks_max
  std::uint64_t blocks_different = 0;
  double absolute_max = 0;
  double relative_max = 0;
};

/// Of a global array that is cut differently, so much of the left step is held in memory.
inline constexpr std::uint64_t kDiffBatchBytes = 128_MiB;

struct DiffOptions {
  std::size_t blocks_max = 1000;
  /// These fields only; all, if none is given.
  std::vector<std::string> fields = {};
  /// Counts bytes of the left step.
  OnProgress progress = {};
  /// With less, blocks of the right step are read more often.
  std::uint64_t batch_bytes = kDiffBatchBytes;
};

struct DiffReport {
  std::vector<FieldDifference> fields = {};  ///< by name; those that do not differ are left out
  std::uint64_t fields_compared = 0;
  std::uint64_t blocks_compared = 0;
  std::uint64_t blocks_by_checksum = 0;  ///< of these: not read, as checksums were comparable
  std::uint64_t blocks_read = 0;         ///< of both steps, each time that one was
};

/// Blocks of a dataset and step of the same number have comparable checksums and are not read if
/// these are the same; all others are read and verified. Global arrays may be cut into blocks
/// differently: left blocks are held in memory, batch_bytes of them or a single larger one, and
/// each right block that has elements of these is read once for all of them, one at a time. An
/// Error is one of reading, or kCancelled; a step with a damaged index is not compared, nor a field
/// of which two blocks have the same elements (kDamage, see check_uncontested()). Blocks.
Result<DiffReport> diff(const StepCatalog& left,
                        const StepCatalog& right,
                        const DiffOptions& options = {});

}  // namespace forebay::format
