// SPDX-License-Identifier: Apache-2.0
// What the parts of `bench solo` share: tasks that each want a slice of one file, and the two ways
// in which they can get it. Every variant touches each cache line of its data and checks what it
// read, outside the clock where possible.
#pragma once

#include <forebay/forebay.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>

#include "bench/frame/benchmark.hpp"
#include "bench/frame/slices.hpp"

namespace forebay::bench::solo {

/// Seconds in which every task preads its slice on one descriptor into its own part of `memory`, or
/// into all of it if that has the size of one task, and touches it.
Result<double> time_pread(const Cut& cut, std::span<std::byte> memory);

/// Seconds from opening a session to the last line touched, each task awaiting a view of its slice.
Result<double> time_session(Runtime& runtime, const Cut& cut);

/// The same from one thread that blocks for each view in turn.
Result<double> time_blocking_session(Runtime& runtime, const Cut& cut);

// The rows of the table, one file each.
Status bench_bandwidth(Context& context);
Status bench_requests(Context& context);
Status bench_memory(Context& context);
Status bench_blocks(Context& context);
Status bench_streams(Context& context);
Status bench_idle(Context& context);

}  // namespace forebay::bench::solo
