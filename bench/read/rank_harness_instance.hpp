// SPDX-License-Identifier: Apache-2.0
// The ranks with which the program was started.
#pragma once

#include "bench/read/rank_harness.hpp"

namespace forebay::bench::read {

/// This process alone, unless main() has set a harness. Only on rank 0, where bodies run.
RankHarness& rank_harness();
void set_rank_harness(RankHarness* harness);

}  // namespace forebay::bench::read
