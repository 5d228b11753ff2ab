// SPDX-License-Identifier: Apache-2.0
// The index of a step in one file, and the claims of its blocks, from the records of its ranks.
#pragma once

#include <forebay/error.hpp>

#include <span>

#include "format/index_builder.hpp"
#include "write/contested_blocks.hpp"
#include "write/rank_step.hpp"

namespace forebay::write {

struct StepIndex {
  format::IndexBuilder builder;
  StepClaims claims;  ///< uncontested
};

/// `parts` have places in the file; parts[i] is of ranks[i], and ranks rise. kInvalidArgument if
/// they do not go together: another type or shape of a field, too many fields, a part twice, blocks
/// of a global array that overlap. The Error names the step and is on the rank that was one too
/// many.
Result<StepIndex> index_of_step(const format::IndexPlace& place,
                                const format::StepFacts& facts,
                                std::span<const RankStep> parts,
                                std::span<const std::uint32_t> ranks);

}  // namespace forebay::write
