// SPDX-License-Identifier: Apache-2.0
#include "bench/door/door.hpp"

namespace forebay::bench::door {

namespace {

FOREBAY_BENCHMARK(door, "Forebay from other languages and libraries, beside their own ways") {
  return run_each(context, {{{"door.c_ns"}, bench_c_calls}, {{"door.strided"}, bench_strided}});
}

}  // namespace

}  // namespace forebay::bench::door
