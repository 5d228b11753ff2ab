// SPDX-License-Identifier: Apache-2.0
// Lists of the accesses that no loop explains, and loops of lists that repeat. All functions here
// keep the accesses and their order.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/signature.hpp"

namespace forebay::trace {

/// Replaces consecutive accesses, lists and loops of fewer than 8 accesses by one list, unless the
/// loops have more than half of these accesses. Then only what is between the loops becomes lists.
/// `items` are inside no loop.
void list_accesses(std::vector<Item>& items);

/// Replaces all loops of fewer than `accesses_min` accesses, and what is next to them, by lists.
void list_small_loops(std::vector<Item>& items, std::uint64_t accesses_min);

/// Replaces a list whose longest repetition is at least a quarter of it by what is before the
/// repetition, a loop around a shorter list, and what is behind.
void repeat_lists(std::vector<Item>& items);

}  // namespace forebay::trace
