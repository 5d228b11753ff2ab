// SPDX-License-Identifier: Apache-2.0
// The parts of `forebay bench engine`.
#pragma once

#include "bench/frame/benchmark.hpp"

namespace forebay::bench::engine {

/// Bandwidth, requests a second and processor time beside fio.
Status bench_over_fio(Context& context);

}  // namespace forebay::bench::engine
