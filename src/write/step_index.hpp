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

/// `metadata[i]` is that of `ranks[i]`, with offsets in the file; `ranks` must be in rising order.
/// Fails with kInvalidArgument if ranks define a field differently or there are too many fields.
/// Also fails if a part of a field was put twice or blocks of a global array overlap, and with
/// kLimit if there are too many attributes. The Error names the step, and has the rank that caused
/// it. If ranks have set different values of an attribute, takes that of the lowest rank: the
/// coordinator compares the attributes of all ranks, and fails the step.
Result<StepIndex> build_step_index(const format::IndexId& id,
                                   const format::StepMetadata& facts,
                                   std::span<const RankMetadata> metadata,
                                   std::span<const std::uint32_t> ranks);

}  // namespace forebay::write
