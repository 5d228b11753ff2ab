// SPDX-License-Identifier: Apache-2.0
// Compares remappers of Cube profiles: the scheme of the original, the improvements of the study
// one by one, and Forebay. All compute the same values.
#include "bench/cube/cube.hpp"

namespace forebay::bench {

FOREBAY_BENCHMARK(cube,
                  "remap of a profile, compared with the original and each optimization stage") {
  for (Status (*const part)(Context&) :
       {cube::bench_stages, cube::bench_threads, cube::bench_specification}) {
    if (auto done = part(context); !done) return done;
  }
  return {};
}

}  // namespace forebay::bench
