// SPDX-License-Identifier: Apache-2.0
// The parts of `forebay bench engine`.
#pragma once

#include "bench/frame/benchmark.hpp"

namespace forebay::bench::engine {

/// Bandwidth, requests a second and processor time, compared with fio.
Status bench_over_fio(Context& context);

/// Computing with write-behind, compared with the model: on devices of a fixed rate, and on the
/// local disk.
Status bench_gain_fixed(Context& context);
/// The same through the page cache.
Status bench_gain_buffered(Context& context);
/// The gain over C/W from 0.03 to 30, for a figure.
Status bench_gain_curve(Context& context);

/// Memory, submission, several devices.
Status bench_streams(Context& context);
/// Several streams on one device.
Status bench_contention(Context& context);

/// Effects of thread placement, buffer reuse and one-pass writing; effects of padding, huge pages
/// and registered buffers.
Status bench_effects_of_streams(Context& context);
Status bench_effects_of_memory(Context& context);

}  // namespace forebay::bench::engine
