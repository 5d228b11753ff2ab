// SPDX-License-Identifier: Apache-2.0
// What writers leave in a dataset's folder that no step needs: files of steps that never were or
// are no more, and those that were kept to be used again. Who holds the lease removes them, before
// it begins and after it has ended.
#pragma once

#include <span>
#include <string>

#include "format/records.hpp"

namespace forebay::write {

/// Removes data files of groups that none of `steps` is in, and all free files. What cannot be
/// removed stays. Blocks; nobody may be writing the dataset.
void remove_leftovers(const std::string& folder, std::span<const format::StepEntry> steps);

}  // namespace forebay::write
