// SPDX-License-Identifier: Apache-2.0
// A snapshot of dark particles, and rows that read it. The kernels are in tipsy_kernels.cpp.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <string>

#include "bench/frame/benchmark.hpp"
#include "bench/frame/file_partition.hpp"
#include "bench/read/rows.hpp"

namespace forebay::bench::read {

struct SnapshotSize {
  std::uint64_t particles = 0;
  std::uint64_t tasks = 0;  ///< divides the particles
};

/// Writes a snapshot in the directory of the context.
FilePartition make_snapshot(Context& context, const SnapshotSize& size);

/// A row: the time of a session / that of ChaNGa's scheme, which must compute the same sums.
struct SnapshotRow {
  std::string id;
  unsigned rounds = 5;
  Goal goal;
  Prepare prepare;
};
Status bench_over_changa(Context& context, const SnapshotRow& row, const FilePartition& partition);

}  // namespace forebay::bench::read
