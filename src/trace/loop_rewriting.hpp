// SPDX-License-Identifier: Apache-2.0
// Rewriting of items into fewer items with the same accesses. LoopRecognizer needs three
// repetitions before it creates a loop; these functions find what that leaves outside of loops.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "trace/signature.hpp"

namespace forebay::trace {

/// Longest sequence that is tried as the body of a loop.
inline constexpr std::size_t kSearchedBodyItemsMax = 32;

/// Number of items, with those in loops.
std::size_t item_count(std::span<const Item> items);

/// The accesses of one repetition of `loop`, which is inside `depth` loops, as items inside `depth`
/// loops. `index` may be outside of [0, count) and may depend on the loops around it. Loops of at
/// most 2 repetitions are replaced by their bodies. Nothing if a count is negative where the
/// variables of all other loops are 0.
std::vector<Item> unroll(const LoopItem& loop, std::size_t depth, const AffineNumber& index);

/// Repeats, until nothing changes, for the bodies of loops and then for `items`, which are inside
/// `depth` loops:
/// - a loop takes in the items before it that equal its repetition -1, and those behind it that
///   equal its next repetition;
/// - consecutive sequences of items, equal but for constant differences, become a loop: three or
///   more with any differences; two if only offsets differ, and there is a loop in them or all
///   offsets differ by the same number;
/// - in the body of a loop, two accesses of the same size become a loop.
/// Intervals are ignored. The accesses stay the same if counts that depend on several variables are
/// not negative: callers compare them.
void rewrite_loops(std::vector<Item>& items, std::size_t depth = 0);

}  // namespace forebay::trace
