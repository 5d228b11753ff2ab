// SPDX-License-Identifier: Apache-2.0
// Lists the benchmark. Its rows run programs (python/forebay/benchmarks).
#include "bench/frame/benchmark.hpp"

namespace forebay::bench {

FOREBAY_BENCHMARK(run, "unchanged programs with and without `forebay run`") { return {}; }

}  // namespace forebay::bench
