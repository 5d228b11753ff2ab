// SPDX-License-Identifier: Apache-2.0
// load_commits(): reads `commits`, chooses the valid generation, and reports damage.
#pragma once

#include "format/commits.hpp"
#include "storage/file.hpp"

namespace forebay::format {

/// The valid generation, and damage found on the way.
struct LoadedCommits {
  CommitsState state = {};
  std::vector<StepEntry> steps = {};  ///< all live and readable ones, by ascending numbers
  std::vector<Error> errors = {};     ///< of slots, tables, history tables; not `empty_slot`
  /// Set if slot 1 is zeros and slot 0 has generation 0, as in a new dataset. It is damage if a
  /// step was published, which `commits` alone does not show.
  std::optional<Error> empty_slot = {};
  bool has_lost_history = false;  ///< live steps are in a damaged block
};

/// Blocks. Retries, a bounded number of times, if a step is published meanwhile. kDamage if no slot
/// is valid, kUnsupported for a newer major version.
Result<LoadedCommits> load_commits(storage::File& file);

}  // namespace forebay::format
