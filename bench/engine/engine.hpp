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
Status bench_memory(Context& context);
Status bench_submission(Context& context);
Status bench_devices(Context& context);
/// Several streams on one device.
Status bench_contention(Context& context);

// Effects of optimizations on this machine: the time of a job without one / the time as it is.
// docs/guides/writing.md explains the results. No goals: 1 is a valid result.

inline constexpr const char* kBaseline = "as it is";

/// From nine rounds on, the spread is the interquartile range, which one slow round does not move.
inline unsigned effect_rounds(const Context& context) { return context.choose(9U, 2U); }

/// Thread placement, buffer reuse and one-pass writing.
Status bench_effects_of_streams(Context& context);
/// Padding.
Status bench_false_sharing(Context& context);
/// Huge pages and registered buffers.
Status bench_direct_writing(Context& context);

}  // namespace forebay::bench::engine
