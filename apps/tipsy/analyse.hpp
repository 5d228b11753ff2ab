// SPDX-License-Identifier: Apache-2.0
// Centre of mass, velocity dispersion and density profile of a snapshot, in one pass by many tasks.
#pragma once

#include <cstddef>

#include "tipsy/run.hpp"

namespace forebay::tipsy {

struct AnalyseOptions {
  RunOptions run;
  std::size_t shells = 50;
};

/// The document of README.md. Fails as opening, recognising and reading do; with kDamage if sums
/// are not finite, and kInvalidArgument if there is no mass.
Result<Json> analyse(const AnalyseOptions& options);

}  // namespace forebay::tipsy
