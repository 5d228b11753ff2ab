// SPDX-License-Identifier: Apache-2.0
// The row that asks whether Forebay chooses well by itself.
#pragma once

#include "bench/frame/benchmark.hpp"

namespace forebay::bench::pfs {

/// pfs.auto.over_best: the automatic plan over the best of a sweep, the worst of all combinations
/// of machine, size and number of ranks. Left out where there are no two ranks.
Status bench_auto(Context& context);

}  // namespace forebay::bench::pfs
