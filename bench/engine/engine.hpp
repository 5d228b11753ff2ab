// SPDX-License-Identifier: Apache-2.0
// The parts of `forebay bench engine`.
#pragma once

#include "bench/frame/benchmark.hpp"

namespace forebay::bench::engine {

/// Bandwidth, requests a second and processor time beside fio.
Status bench_over_fio(Context& context);

/// Computing and writing behind, beside the model: devices of a fixed rate, and the local disk.
Status bench_gain_fixed(Context& context);
/// The same through the page cache.
Status bench_gain_buffered(Context& context);
/// The gain over C/W from 0.03 to 30, for a picture.
Status bench_gain_curve(Context& context);

/// Memory, hand-over, several devices.
Status bench_streams(Context& context);
/// Several streams on one device.
Status bench_contention(Context& context);

/// What placement, the pool and writing each byte once are worth; what spacing of atomics, huge
/// pages and registered buffers are.
Status bench_effects_of_streams(Context& context);
Status bench_effects_of_memory(Context& context);

}  // namespace forebay::bench::engine
