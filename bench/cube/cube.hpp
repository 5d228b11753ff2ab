// SPDX-License-Identifier: Apache-2.0
// The parts of `forebay bench cube`.
#pragma once

#include "bench/frame/benchmark.hpp"

namespace forebay::bench::cube {

/// The original's scheme, each of the deck's improvements, and Forebay, for the deck's inputs.
Status bench_ladder(Context& context);
/// A remap that computes much more than it writes, with one thread and with two.
Status bench_threads(Context& context);
/// How much of a specification of Score-P is executed.
Status bench_specification(Context& context);

}  // namespace forebay::bench::cube
