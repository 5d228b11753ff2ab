// SPDX-License-Identifier: Apache-2.0
// The index of a step in one file, and the coverage of its blocks, from the metadata of its ranks.
#pragma once

#include <forebay/error.hpp>

#include <span>

#include "format/index_builder.hpp"
#include "write/rank_metadata.hpp"
#include "write/step_coverage.hpp"

namespace forebay::write {

struct StepIndex {
  format::IndexBuilder builder;
  StepCoverage coverage;  ///< without overlaps
};

/// `parts` must have offsets in the file; parts[i] is of ranks[i], and ranks rise. kInvalidArgument
/// if they do not fit together: another type or shape of a field, too many fields, a part twice,
/// blocks of a global array that overlap. The Error names the step, and has the rank that caused
/// it.
Result<StepIndex> build_step_index(const format::IndexId& place,
                                   const format::StepMetadata& facts,
                                   std::span<const RankMetadata> parts,
                                   std::span<const std::uint32_t> ranks);

}  // namespace forebay::write
