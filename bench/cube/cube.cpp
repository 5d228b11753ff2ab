// SPDX-License-Identifier: Apache-2.0
// The Cube re-mapper: the original's scheme, the deck's improvements of it one by one, and
// Forebay's, all computing the same values.
#include "bench/cube/cube.hpp"

namespace forebay::bench {

FOREBAY_BENCHMARK(cube, "remapping a profile beside the original's scheme and the deck's ladder") {
  for (Status (*const part)(Context&) :
       {cube::bench_ladder, cube::bench_threads, cube::bench_specification}) {
    if (auto done = part(context); !done) return done;
  }
  return {};
}

}  // namespace forebay::bench
