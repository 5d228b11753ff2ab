// SPDX-License-Identifier: Apache-2.0
// What each thing that makes the engine fast is worth on this machine: a job as it is beside the
// same job with that thing switched off. docs/guides/writing.md says how to read it.
#pragma once

#include <string>
#include <vector>

#include "bench/frame/benchmark.hpp"

namespace forebay::bench::engine {

/// One thing that can be switched off.
struct Effect {
  std::string id;
  /// The job as it is, and without; all measure seconds. What follows them is shown beside.
  std::vector<Variant> variants;
};

/// Runs all variants in rounds and adds a row of the time without / the time as it is. No goal: 1
/// is a result, too.
Status show_effect(Context& context, const Effect& effect);

}  // namespace forebay::bench::engine
