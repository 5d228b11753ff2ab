// SPDX-License-Identifier: Apache-2.0
// Shared by the parts of `bench solo`: tasks that each read a slice of one file, by pread or by a
// session. Every variant touches each cache line of its data and verifies the bytes, outside the
// measured time where possible.
#pragma once

#include <forebay/forebay.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>

#include "bench/frame/benchmark.hpp"
#include "bench/frame/file_partition.hpp"

namespace forebay::bench::solo {

/// Seconds in which every task preads its slice on one descriptor and touches it. The target is its
/// part of `memory`, or all of `memory` if that has the size of one task.
double time_pread(const FilePartition& partition, std::span<std::byte> memory);

/// Seconds from opening a session to the last touched line; each task awaits a view of its slice.
double time_session(Runtime& runtime, const FilePartition& partition);

/// The same from one thread that blocks for one view after the other.
double time_blocking_session(Runtime& runtime, const FilePartition& partition);

// The rows of the table.
Status bench_random(Context& context);
Status bench_bandwidth(Context& context);
Status bench_requests(Context& context);
Status bench_memory(Context& context);
Status bench_blocks(Context& context);
Status bench_istream(Context& context);
Status bench_streams(Context& context);
Status bench_idle(Context& context);

}  // namespace forebay::bench::solo
