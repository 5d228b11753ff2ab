// SPDX-License-Identifier: Apache-2.0
// StepCoverage: the parts and boxes of the blocks of a step, and the ranks that put them. It serves
// to detect parts and elements that are in two blocks: a reader could not choose between them. The
// owner of a file compares the blocks in that file. If a step has several files, the coordinator
// compares those of all files.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "write/rank_metadata.hpp"

namespace forebay::write {

/// Consecutive parts of a field, put by one rank.
struct PartRange {
  std::uint64_t first = 0;
  std::uint32_t count = 1;
  std::uint32_t rank = 0;
};

struct FieldCoverage {
  std::string name;
  std::vector<PartRange> parts;          ///< by first part, then by rank
  std::uint32_t dimensions = 0;          ///< of a global array
  std::vector<std::uint64_t> boxes;      ///< start, then count, of each block with elements
  std::vector<std::uint32_t> box_ranks;  ///< of each box
};

/// By field name.
using StepCoverage = std::vector<FieldCoverage>;

/// Coverage of one file: `ranks[i]` put the blocks of `metadata[i]`. Fields of one name must be the
/// same in all of them.
StepCoverage coverage_of(std::span<const RankMetadata> metadata,
                         std::span<const std::uint32_t> ranks);

/// Coverage of several files. Fields of one name must be the same in all of them.
StepCoverage merge_coverage(std::vector<StepCoverage> files);

/// kInvalidArgument if two blocks are the same part of a field, or share elements of a global
/// array. The Error names both ranks, and has the higher one as its rank.
Status check_no_overlap(std::uint64_t step, const StepCoverage& coverage);

/// Encodes the payload of a message, and decodes it.
comm::Bytes to_bytes(const StepCoverage& coverage);
/// kDamage, with field and value, if the bytes are not valid.
Result<StepCoverage> coverage_from_bytes(std::span<const std::byte> bytes);

}  // namespace forebay::write
