// SPDX-License-Identifier: Apache-2.0
// Rows of `bench checkpoint` that time single calls of a dataset. The other rows run kernels
// (python/forebay/benchmarks).
#pragma once

#include <forebay/error.hpp>

#include "bench/frame/benchmark.hpp"

namespace forebay::bench::checkpoint {

inline constexpr unsigned kRounds = 5;
inline constexpr double kMicroseconds = 1e6;

Status bench_adopt(Context& context);
Status bench_put(Context& context);
Status bench_begin_step(Context& context);

}  // namespace forebay::bench::checkpoint
