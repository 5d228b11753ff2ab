// SPDX-License-Identifier: Apache-2.0
// Measures the effect of each optimization of the engine on this machine: a job as it is, and the
// same job without the optimization. docs/guides/writing.md explains the results.
#pragma once

#include <string>
#include <vector>

#include "bench/frame/benchmark.hpp"

namespace forebay::bench::engine {

/// One optimization that can be disabled.
struct Effect {
  std::string id;
  /// The job as it is, and without the optimization; both measure seconds. Further variants are
  /// shown as peers.
  std::vector<Variant> variants;
};

/// Runs all variants in rounds and adds a row: time without the optimization / time as it is. No
/// goal: 1 is a valid result.
Status measure_effect(Context& context, const Effect& effect);

}  // namespace forebay::bench::engine
