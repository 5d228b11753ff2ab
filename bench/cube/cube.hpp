// SPDX-License-Identifier: Apache-2.0
// The parts of `forebay bench cube`.
#pragma once

#include "bench/frame/benchmark.hpp"

namespace forebay::bench::cube {

/// Measures the original, each improvement of the study, and Forebay, on the inputs of the study.
Status bench_stages(Context& context);
/// Measures a remap that computes much more than it writes, with one thread and with two.
Status bench_threads(Context& context);
/// Counts the expressions of a specification of Score-P that are executed.
Status bench_specification(Context& context);

}  // namespace forebay::bench::cube
