// SPDX-License-Identifier: Apache-2.0
// pfs.tipsy.over_changa: a snapshot of dark particles, read for 65,536 tasks as ChaNGa reads it,
// and through a session. Both decode all particles and must find the same sums.
#include "bench/pfs/site.hpp"
#include "bench/read/snapshot.hpp"
#include "bench/read/the_crew.hpp"

namespace forebay::bench::pfs {

namespace {

/// Opening the file for each task takes ChaNGa's scheme half a minute a round, and the ratio is far
/// from its goal: more rounds would tell nothing.
constexpr unsigned kFewRounds = 3;

/// One way of reading it, checked.
Variant variant(const char* name, read::Work work, const Cut& cut, read::SameSums& same) {
  return {name, {}, [job = read::Job::of(work, cut), &same]() -> Result<double> {
            const auto measured = read::the_crew().measure(job);
            if (!measured) return failure(measured.error());
            return same.check(measured->found).map([&] { return measured->seconds; });
          }};
}

}  // namespace

Status bench_tipsy(Context& context) {
  const std::string id = "pfs.tipsy.over_changa";
  if (!context.wants(id)) return {};
  const auto snapshot =
      read::make_snapshot(context, {.particles = context.choose(1ULL << 25U, 1ULL << 20U),
                                    .tasks = context.choose(1ULL << 16U, 1ULL << 11U)});
  if (!snapshot) return failure(snapshot.error());
  const auto site = Site::make(context, {.machine = "lustre-small", .words = {}}, snapshot->path);
  if (!site) return failure(site.error());
  const Cut cut = (*site)->cut(snapshot->task_count);
  read::SameSums same;
  Variant ours = variant("forebay", read::Work::kTipsySession, cut, same);
  Variant theirs = variant("ChaNGa", read::Work::kTipsyChanga, cut, same);
  ours.prepare = theirs.prepare = (*site)->cold();
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
