// SPDX-License-Identifier: Apache-2.0
// The row that measures the quality of automatic plans.
#pragma once

#include "bench/frame/benchmark.hpp"

namespace forebay::bench::pfs {

/// pfs.auto.over_best: time of the automatic plan / time of the best of a sweep, the worst of all
/// combinations of machine, size and number of ranks. Skipped without two ranks.
Status bench_auto(Context& context);

}  // namespace forebay::bench::pfs
