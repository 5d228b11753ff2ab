// SPDX-License-Identifier: Apache-2.0
// Shared by the pages of `bench read`. Each page has some rows of the table and the kernels that
// only these use.
#pragma once

#include <array>
#include <functional>

#include "bench/frame/benchmark.hpp"
#include "bench/read/rank_harness.hpp"

namespace forebay::bench::read {

using Prepare = std::function<Status()>;

inline constexpr std::uint64_t kTasks = 16384;
/// From one task for each of two ranks to many tasks on each.
inline constexpr std::array<std::uint64_t, 5> kTaskCounts{2, 32, 512, 8192, 16384};
inline constexpr double kMicroseconds = 1e6;

/// The large file of a run and its tasks.
Result<FilePartition> large_partition(Context& context);

// The rows, a page each.
Status bench_misses(Context& context);
Status bench_memory(Context& context);
Status bench_tipsy(Context& context);
Status bench_scaling(Context& context);
Status bench_idle(Context& context);
Status bench_hosts(Context& context);

}  // namespace forebay::bench::read
