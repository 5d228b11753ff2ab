// SPDX-License-Identifier: Apache-2.0
// read.tipsy.over_changa: a snapshot of dark particles, read for 65,536 tasks by ChaNGa's scheme
// and by a session. Both decode all particles and must compute the same sums.
#include "bench/read/rows.hpp"
#include "bench/read/snapshot.hpp"

namespace forebay::bench::read {

Status bench_tipsy(Context& context) {
  const FilePartition partition =
      make_snapshot(context, {.particles = context.choose(1ULL << 25U, 1ULL << 21U),
                              .tasks = context.choose(1ULL << 16U, 1ULL << 13U)});
  return bench_over_changa(
      context, {.id = "read.tipsy.over_changa", .goal = {0.6}, .prepare = warm(partition.path)},
      partition);
}

}  // namespace forebay::bench::read
