// SPDX-License-Identifier: Apache-2.0
// Checks a snapshot: header against size, counts, and every number of every particle.
#pragma once

#include "tipsy/snapshot_run.hpp"

namespace forebay::tipsy {

/// Returns the document of README.md; its "ok" is false if there are problems. Damage is a problem,
/// not an Error. A file that cannot be opened or read, or that needs a named precision, is an
/// Error.
Result<Json> check(const RunOptions& options);

}  // namespace forebay::tipsy
