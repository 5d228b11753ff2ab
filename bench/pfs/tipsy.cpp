// SPDX-License-Identifier: Apache-2.0
// pfs.tipsy.over_changa: a snapshot of dark particles, read for 65,536 tasks by ChaNGa's scheme and
// by a session. Both decode all particles and must compute the same sums.
#include "bench/pfs/mounted_file.hpp"
#include "bench/read/rank_harness_instance.hpp"
#include "bench/read/snapshot.hpp"

namespace forebay::bench::pfs {

namespace {

/// With ChaNGa's scheme, opening the file for each task takes half a minute a round, and the ratio
/// is far from its goal: more rounds would add nothing.
constexpr unsigned kFewRounds = 3;

/// One way to read it, verified.
Variant variant(const char* name,
                read::Kernel kernel,
                const FilePartition& partition,
                read::SumValidator& validator) {
  return {name, {}, [job = read::Job::make(kernel, partition), &validator]() -> Result<double> {
            const auto measured = read::rank_harness().measure(job);
            if (!measured) return failure(measured.error());
            return validator.check(measured->rank_results).map([&] { return measured->seconds; });
          }};
}

}  // namespace

Status bench_tipsy(Context& context) {
  const std::string id = "pfs.tipsy.over_changa";
  if (!context.is_selected(id)) return {};
  const auto snapshot =
      read::make_snapshot(context, {.particles = context.choose(1ULL << 25U, 1ULL << 20U),
                                    .tasks = context.choose(1ULL << 16U, 1ULL << 11U)});
  if (!snapshot) return failure(snapshot.error());
  const auto mounted_file =
      MountedFile::make(context, {.machine = "lustre-small", .arguments = {}}, snapshot->path);
  if (!mounted_file) return failure(mounted_file.error());
  const FilePartition partition = (*mounted_file)->partition(snapshot->task_count);
  read::SumValidator validator;
  Variant ours = variant("forebay", read::Kernel::kTipsySession, partition, validator);
  Variant theirs = variant("ChaNGa", read::Kernel::kTipsyChanga, partition, validator);
  ours.prepare = theirs.prepare = (*mounted_file)->drop_cache();
  const auto rounds = context.run(id, kFewRounds, {ours, theirs});
  if (!rounds) return failure(rounds.error());
  context.add({.id = id,
               .unit = "1",
               .measured = rounds->ratio("forebay", "ChaNGa"),
               .goal = Goal{0.5},
               .peers = {{"forebay", "s", rounds->summary("forebay")},
                         {"ChaNGa's scheme", "s", rounds->summary("ChaNGa")}}});
  return {};
}

}  // namespace forebay::bench::pfs
