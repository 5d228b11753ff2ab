// SPDX-License-Identifier: Apache-2.0
// Blocks with the same elements. No rule chooses between them, so functions that would have to
// choose return an Error. Today a step with such blocks is not published; older writers compared
// only the blocks of one file.
#pragma once

#include "format/catalog.hpp"

namespace forebay::format {

/// Two blocks of a step, in the order of files and keys.
using BlockPair = std::pair<BlockLocation, BlockLocation>;

/// Two blocks of a global array that share an element; no value if none do. About n log n steps.
std::optional<BlockPair> find_overlapping_boxes(const StepCatalog& step, const StepField& field);

/// A part that two files have, or the result of find_overlapping_boxes(); no value if no element of
/// the field has two blocks.
std::optional<BlockPair> find_overlapping_blocks(const StepCatalog& step, const StepField& field);

/// kDamage if find_overlapping_blocks() finds a pair: "VERB step 1, field u, part 3 of FILE", with
/// the other block and its file.
Status check_no_overlap(const StepCatalog& step, const StepField& field, const std::string& verb);

/// StepCatalog::errors(), and an Error for one duplicate part of each field with parts that several
/// files have.
std::vector<Error> errors_of(const StepCatalog& step);

}  // namespace forebay::format
