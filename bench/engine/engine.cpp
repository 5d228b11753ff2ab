// SPDX-License-Identifier: Apache-2.0
// The asynchronous engine beside what people measure devices with, and beside what programs do that
// overlap writing with computing.
#include "bench/engine/engine.hpp"

namespace forebay::bench {

FOREBAY_BENCHMARK(engine, "the storage engine beside fio, and write-behind beside its model") {
  return engine::bench_over_fio(context);
}

}  // namespace forebay::bench
