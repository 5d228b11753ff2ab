// SPDX-License-Identifier: Apache-2.0
// The asynchronous engine beside what people measure devices with, and beside what programs do that
// overlap writing with computing.
#include "bench/engine/engine.hpp"

namespace forebay::bench {

FOREBAY_BENCHMARK(engine, "the storage engine beside fio, and write-behind beside its model") {
  for (Status (*const part)(Context&) :
       {engine::bench_over_fio, engine::bench_gain_fixed, engine::bench_gain_buffered,
        engine::bench_gain_curve, engine::bench_streams, engine::bench_contention,
        engine::bench_effects_of_streams, engine::bench_effects_of_memory}) {
    if (auto done = part(context); !done) return done;
  }
  return {};
}

}  // namespace forebay::bench
