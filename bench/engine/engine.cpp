// SPDX-License-Identifier: Apache-2.0
// The asynchronous engine compared with fio, and with other ways to overlap writing with computing.
#include "bench/engine/engine.hpp"

namespace forebay::bench {

FOREBAY_BENCHMARK(engine,
                  "storage engine compared with fio, and write-behind compared with its model") {
  for (Status (*const part)(Context&) :
       {engine::bench_over_fio, engine::bench_gain_fixed, engine::bench_gain_buffered,
        engine::bench_gain_curve, engine::bench_streams, engine::bench_contention,
        engine::bench_effects_of_streams, engine::bench_effects_of_memory}) {
    if (auto done = part(context); !done) return done;
  }
  return {};
}

}  // namespace forebay::bench
