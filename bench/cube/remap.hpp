// SPDX-License-Identifier: Apache-2.0
// `forebay cube remap`, the last stage: the program that users run.
#pragma once

#include <forebay/error.hpp>

#include <nlohmann/json.hpp>

#include "bench/cube/optimization_stages.hpp"
#include "bench/cube/subprocess.hpp"

namespace forebay::bench::cube {

/// Runs the conversion `task`. With `threads` 0 the program chooses their number.
Result<SubprocessRun> run_remap(const RemapPaths& task, unsigned threads);

/// {"compute_s", "write_s", "efficiency"} from the program's output; null if it cannot be parsed.
nlohmann::json remap_times(const SubprocessRun& run);

}  // namespace forebay::bench::cube
