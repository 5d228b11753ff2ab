// SPDX-License-Identifier: Apache-2.0
// Reads `commits`: chooses the generation that is in force, and tells what else it found.
#pragma once

#include "format/commits.hpp"
#include "storage/file.hpp"

namespace forebay::format {

/// What is in force, and what was passed over on the way there.
struct LoadedCommits {
  CommitsState state = {};
  std::vector<StepEntry> steps = {};  ///< all that are alive and readable, by rising numbers
  std::vector<Error> damages = {};    ///< slots, tables, past blocks; not `empty_slot`
  /// Slot 1 is zeros, and slot 0 has generation 0: what a new dataset has. Damage if a step was
  /// published, which `commits` alone does not tell.
  std::optional<Error> empty_slot = {};
  bool has_lost_past = false;  ///< steps that are alive are in a block that is damaged
};

/// Blocks. Begins again, a bounded number of times, if somebody publishes meanwhile. kDamage if no
/// slot is in force, kUnsupported for a newer major version.
Result<LoadedCommits> load_commits(storage::File& file);

}  // namespace forebay::format
