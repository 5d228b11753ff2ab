// SPDX-License-Identifier: Apache-2.0
// A snapshot of dark particles for rows that read one, and the check that all readers compute the
// same sums. The kernels are in tipsy_kernels.cpp.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <vector>

#include "bench/frame/benchmark.hpp"
#include "bench/frame/file_partition.hpp"

namespace forebay::bench::read {

struct SnapshotSize {
  std::uint64_t particles = 0;
  std::uint64_t tasks = 0;  ///< divides the particles
};

/// Writes a snapshot in the directory of the context.
Result<FilePartition> make_snapshot(Context& context, const SnapshotSize& size);

/// Fails unless each rank has the same result in every run.
class SumValidator {
 public:
  Status check(const std::vector<double>& found);

 private:
  std::vector<double> first_;
};

}  // namespace forebay::bench::read
