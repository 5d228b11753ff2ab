// SPDX-License-Identifier: Apache-2.0
// A snapshot of dark particles for rows that read one, and the check that whoever reads it finds
// the same in it: the works that read are those of tipsy_works.cpp.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <vector>

#include "bench/frame/benchmark.hpp"
#include "bench/frame/slices.hpp"

namespace forebay::bench::read {

struct SnapshotSize {
  std::uint64_t particles = 0;
  std::uint64_t tasks = 0;  ///< divides the particles
};

/// Makes one in the folder of the context.
Result<Cut> make_snapshot(Context& context, const SnapshotSize& size);

/// Fails unless each rank finds the same in every run.
class SameSums {
 public:
  Status check(const std::vector<double>& found);

 private:
  std::vector<double> first_;
};

}  // namespace forebay::bench::read
