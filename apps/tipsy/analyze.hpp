// SPDX-License-Identifier: Apache-2.0
// Center of mass, velocity dispersion and density profile of a snapshot, in one pass by many tasks.
#pragma once

#include <cstddef>

#include "tipsy/snapshot_run.hpp"

namespace forebay::tipsy {

struct AnalyzeOptions {
  RunOptions run;
  std::size_t shells = 50;
};

/// Returns the document of README.md. Fails as opening, identifying and reading do, with kDamage if
/// sums are not finite, and with kInvalidArgument if the total mass is not above 0.
Result<Json> analyze(const AnalyzeOptions& options);

}  // namespace forebay::tipsy
