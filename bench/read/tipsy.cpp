// SPDX-License-Identifier: Apache-2.0
// read.tipsy.over_changa: a snapshot of dark particles, read for 65,536 tasks as ChaNGa reads it,
// and through a session. Both decode all particles and must find the same sums.
#include "bench/read/rows.hpp"
#include "bench/read/snapshot.hpp"
#include "bench/read/the_crew.hpp"
#include "tools/probe/page_cache.hpp"

namespace forebay::bench::read {

namespace {

/// One way of reading it, checked.
Variant variant(const char* name, Work work, const Cut& cut, SameSums& same) {
  return {name, [path = cut.path] { return probe::warm(path); },
          [job = Job::of(work, cut), &same]() -> Result<double> {
            const auto measured = the_crew().measure(job);
            if (!measured) return failure(measured.error());
            return same.check(measured->found).map([&] { return measured->seconds; });
          }};
}

}  // namespace

Status bench_tipsy(Context& context) {
  const std::string id = "read.tipsy.over_changa";
  if (!context.wants(id)) return {};
  const auto cut = make_snapshot(context, {.particles = context.choose(1ULL << 25U, 1ULL << 21U),
                                           .tasks = context.choose(1ULL << 16U, 1ULL << 13U)});
  if (!cut) return failure(cut.error());
  SameSums same;
  const auto rounds = context.run(id, 5,
                                  {variant("forebay", Work::kTipsySession, *cut, same),
                                   variant("ChaNGa", Work::kTipsyChanga, *cut, same)});
  if (!rounds) return failure(rounds.error());
  context.add({.id = id,
               .unit = "1",
               .measured = rounds->ratio("forebay", "ChaNGa"),
               .goal = Goal{0.6},
               .peers = {{"forebay", "s", rounds->summary("forebay")},
                         {"ChaNGa's scheme", "s", rounds->summary("ChaNGa")}}});
  return {};
}

}  // namespace forebay::bench::read
