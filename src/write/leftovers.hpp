// SPDX-License-Identifier: Apache-2.0
// What writers leave in a dataset's folder that no step needs: files of steps that never were or
// are no more, and those that were kept to be used again. Who holds the lease removes them, before
// it begins and after it has ended; and it takes other names than they have, since whoever was
// taken for dead may go on.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <span>
#include <string>

#include "format/records.hpp"

namespace forebay::write {

/// Groups of one opening; more of them, which no run has, would be those of the next.
inline constexpr std::uint64_t kGroupsOfOpening = 1'000'000;

/// The first group for who opens a dataset: a multiple of kGroupsOfOpening behind all groups that
/// `steps` are in and that files are there of. Makes the empty file 0 of that group, so that others
/// take another one. Who still has the lease afterwards shares its names with nobody, before or
/// after it; to be asked then. Blocks.
Result<std::uint64_t> claim_groups(const std::string& folder,
                                   std::span<const format::StepEntry> steps);

/// Removes data files of groups that none of `steps` is in, and all free files, as far as their
/// groups are before `end_group`: others are of somebody who came later. What cannot be removed
/// stays. Blocks.
void remove_leftovers(const std::string& folder,
                      std::span<const format::StepEntry> steps,
                      std::uint64_t end_group);

}  // namespace forebay::write
