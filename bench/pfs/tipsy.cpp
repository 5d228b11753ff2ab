// SPDX-License-Identifier: Apache-2.0
// pfs.tipsy.over_changa: a snapshot of dark particles, read for 65,536 tasks by ChaNGa's scheme and
// by a session. Both decode all particles and must compute the same sums.
#include "bench/pfs/mounted_file.hpp"
#include "bench/read/snapshot.hpp"

namespace forebay::bench::pfs {

namespace {

/// With ChaNGa's scheme, opening the file for each task takes half a minute a round, and the ratio
/// is far from its goal: more rounds would add nothing.
constexpr unsigned kFewRounds = 3;

}  // namespace

Status bench_tipsy(Context& context) {
  const FilePartition snapshot =
      read::make_snapshot(context, {.particles = context.choose(1ULL << 25U, 1ULL << 20U),
                                    .tasks = context.choose(1ULL << 16U, 1ULL << 11U)});
  const auto mounted_file =
      MountedFile::make(context, {.machine = "lustre-small", .arguments = {}}, snapshot.path);
  return read::bench_over_changa(context,
                                 {.id = "pfs.tipsy.over_changa",
                                  .rounds = kFewRounds,
                                  .goal = {0.5},
                                  .prepare = mounted_file->drop_cache()},
                                 mounted_file->partition(snapshot.task_count));
}

}  // namespace forebay::bench::pfs
