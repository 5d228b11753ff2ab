// SPDX-License-Identifier: Apache-2.0
// Rows of `bench door` about single calls.
#pragma once

#include "bench/frame/benchmark.hpp"

namespace forebay::bench::door {

/// Cost of a call of the C interface, over that of the same call in C++.
Status bench_c_calls(Context& context);
/// put() of a block inside ghost layers, over packing it by hand.
Status bench_strided(Context& context);

/// Checkpoint bandwidth of Fortran over that of C++. Only with a Fortran compiler.
Status bench_fortran(Context& context);

}  // namespace forebay::bench::door
