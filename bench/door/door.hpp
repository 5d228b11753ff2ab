// SPDX-License-Identifier: Apache-2.0
// Rows of `bench door` about single calls.
#pragma once

#include <string>

#include "bench/frame/benchmark.hpp"

namespace forebay::bench::door {

/// Cost of a call of the C interface, over that of the same call in C++.
Status bench_c_calls(Context& context);
/// put() of a block inside ghost layers, over packing it by hand.
Status bench_strided(Context& context);

/// Checkpoint bandwidth of Fortran over that of C++. Only with a Fortran compiler.
Status bench_fortran(Context& context);

/// A view of resident bytes as an array of NumPy. Fails if bytes are copied.
Status bench_python_views(Context& context);
/// Tasks of asyncio, over as many coroutines.
Status bench_python_tasks(Context& context);
/// Why Python cannot be measured here; empty if it can.
std::string no_python_reason();

}  // namespace forebay::bench::door
