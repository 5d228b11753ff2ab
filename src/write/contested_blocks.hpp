// SPDX-License-Identifier: Apache-2.0
// Parts and elements that two blocks of a file have: no reader could tell which of them is meant.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <span>

#include "write/rank_step.hpp"

namespace forebay::write {

/// kInvalidArgument if two blocks of `steps` are the same part of a field, or share elements of a
/// global array: it names both ranks, and is on the later one. steps[i] is what ranks[i] has put;
/// ranks rise, and fields of one name are the same in all of them.
Status check_uncontested(std::span<const RankStep> steps, std::span<const std::uint32_t> ranks);

}  // namespace forebay::write
