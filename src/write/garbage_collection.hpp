// SPDX-License-Identifier: Apache-2.0
// Garbage collection: removes files in a dataset's directory that no step needs. These are files of
// steps that were never published or were dropped, and files kept for reuse. The holder of the
// lease removes them before it begins and after it has ended. It uses new file names, because a
// former writer that was presumed dead may resume.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <span>
#include <string>

#include "format/records.hpp"

namespace forebay::write {

/// Groups of one opening. No run has more; further ones would be those of the next opening.
inline constexpr std::uint64_t kGroupsPerOpen = 1'000'000;

/// Returns the first group of an opening: a multiple of kGroupsPerOpen above the groups of `steps`
/// and of all existing data files. Creates the empty file 0 of that group, so that other openings
/// choose another one. The caller must check the lease afterwards: if it is still held, no earlier
/// or later writer uses the same names. Blocks.
Result<std::uint64_t> reserve_groups(const std::string& directory,
                                     std::span<const format::StepEntry> steps);

/// Removes data files of groups that none of `steps` is in, and all free files, but only of groups
/// below `end_group`: other groups belong to a later writer. Files that cannot be removed stay.
/// Blocks.
void collect_garbage(const std::string& directory,
                     std::span<const format::StepEntry> steps,
                     std::uint64_t end_group);

}  // namespace forebay::write
