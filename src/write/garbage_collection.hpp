// SPDX-License-Identifier: Apache-2.0
// Garbage collection: removes files in a dataset's directory that no step needs. These are files of
// steps that were never published or were dropped, and files kept for reuse. The holder of the
// lease removes them when it opens the dataset, and after its last write. Each opening uses new
// file names, because a former holder that was presumed dead may resume.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <span>
#include <string>

#include "format/records.hpp"

namespace forebay::write {

/// Number of groups reserved for one opening. No run needs more; the next opening uses the
/// following ones.
inline constexpr std::uint64_t kGroupsPerOpen = 1'000'000;

/// Returns the first group of an opening: a multiple of kGroupsPerOpen above the groups of `steps`
/// and of all existing data files. Creates the empty file 0 of that group, so that other openings
/// choose another one. The caller must check the lease afterwards: if it is still held, no earlier
/// or later holder uses the same names. Blocks.
Result<std::uint64_t> reserve_groups(const std::string& directory,
                                     std::span<const format::StepEntry> steps);

/// Removes free files, and data files of groups without any of `steps`. Keeps groups from
/// `end_group` on, which belong to a later holder. Ignores files that cannot be removed. Blocks.
void collect_garbage(const std::string& directory,
                     std::span<const format::StepEntry> steps,
                     std::uint64_t end_group);

}  // namespace forebay::write
