// SPDX-License-Identifier: Apache-2.0
// Blocks that claim the same elements. No rule chooses between them, so functions that would have
// to choose return an Error instead. A step with such blocks is not published today; older writers
// compared the blocks of one file only.
#pragma once

#include "format/catalog.hpp"

namespace forebay::format {

/// Two blocks of a step; the first one comes first in the order of files and keys.
using BlockPair = std::pair<BlockPlace, BlockPlace>;

/// Two blocks of a global array that share an element; no value if none do. About n log n steps.
std::optional<BlockPair> find_overlap(const StepCatalog& step, const StepField& field);

/// A part that two files have, or find_overlap(); no value if no element of the field is contested.
std::optional<BlockPair> find_contested(const StepCatalog& step, const StepField& field);

/// kDamage if find_contested() finds some: "VERB step 1, field u, part 3 of FILE", with the other
/// block and its file.
Status check_uncontested(const StepCatalog& step, const StepField& field, const std::string& verb);

/// StepCatalog::damages(), and for each field of which two files have the same part the Error of
/// one such part.
std::vector<Error> damages_of(const StepCatalog& step);

}  // namespace forebay::format
