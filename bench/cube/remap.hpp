// SPDX-License-Identifier: Apache-2.0
// `forebay cube remap` as the ladder's last rung: the program that users run.
#pragma once

#include <forebay/error.hpp>

#include <nlohmann/json.hpp>

#include "bench/cube/apart.hpp"
#include "bench/cube/rungs.hpp"

namespace forebay::bench::cube {

/// Converts what `task` says; `threads` of 0 leaves their number to the program.
Result<ApartRun> run_remap(const Task& task, unsigned threads);

/// {"compute_s", "write_s", "efficiency"} of what it printed; null if it is not understood.
nlohmann::json remap_times(const ApartRun& run);

}  // namespace forebay::bench::cube
