// SPDX-License-Identifier: Apache-2.0
// Whether a snapshot is whole: header against size, counts, and every number of every particle.
#pragma once

#include "tipsy/run.hpp"

namespace forebay::tipsy {

/// The document of README.md; its "ok" says whether problems were found. Damage is a finding; only
/// a file that cannot be opened or read, or whose precision must be named, is an Error.
Result<Json> check(const RunOptions& options);

}  // namespace forebay::tipsy
