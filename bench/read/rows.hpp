// SPDX-License-Identifier: Apache-2.0
// Shared by the pages of `bench read` and `bench pfs`. Each page has some rows of the table and the
// kernels that only these use.
#pragma once

#include <array>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "bench/frame/benchmark.hpp"
#include "bench/read/rank_harness.hpp"

namespace forebay::bench::read {

using Prepare = std::function<Status()>;

inline constexpr std::uint64_t kTasks = 16384;
/// From one task for each of two ranks to many tasks on each.
inline constexpr std::array<std::uint64_t, 5> kTaskCounts{2, 32, 512, 8192, 16384};
inline constexpr double kMicroseconds = 1e6;

/// The large file of a run and its tasks.
FilePartition large_partition(Context& context);

/// State of a file before a measurement: in the page cache, or not.
Prepare warm(const std::filesystem::path& path);
Prepare cold(const std::filesystem::path& path);

/// Runs a job on its ranks; measures seconds.
Variant job_variant(std::string name, const Job& job, Prepare prepare);

// The rows, a page each.
Status bench_misses(Context& context);
Status bench_memory(Context& context);
Status bench_tipsy(Context& context);
Status bench_scaling(Context& context);
Status bench_idle(Context& context);
Status bench_hosts(Context& context);
/// Why its rows cannot be measured here; empty if they can.
std::string hosts_unavailable_reason();

}  // namespace forebay::bench::read
