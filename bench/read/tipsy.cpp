// SPDX-License-Identifier: Apache-2.0
// read.tipsy.over_changa: a snapshot of dark particles, read for 65,536 tasks by ChaNGa's scheme
// and by a session. Both decode all particles and must compute the same sums.
#include "bench/read/rank_harness_instance.hpp"
#include "bench/read/rows.hpp"
#include "bench/read/snapshot.hpp"
#include "tools/probe/page_cache.hpp"

namespace forebay::bench::read {

namespace {

/// One way to read it, verified.
Variant variant(const char* name,
                Kernel kernel,
                const FilePartition& partition,
                SumValidator& validator) {
  return {name, [path = partition.path] { return probe::warm(path); },
          [job = Job::make(kernel, partition), &validator]() -> Result<double> {
            const auto measured = rank_harness().measure(job);
            if (!measured) return failure(measured.error());
            return validator.check(measured->rank_results).map([&] { return measured->seconds; });
          }};
}

}  // namespace

Status bench_tipsy(Context& context) {
  const std::string id = "read.tipsy.over_changa";
  if (!context.is_selected(id)) return {};
  const auto partition =
      make_snapshot(context, {.particles = context.choose(1ULL << 25U, 1ULL << 21U),
                              .tasks = context.choose(1ULL << 16U, 1ULL << 13U)});
  if (!partition) return failure(partition.error());
  SumValidator validator;
  const auto rounds = context.run(id, 5,
                                  {variant("forebay", Kernel::kTipsySession, *partition, validator),
                                   variant("ChaNGa", Kernel::kTipsyChanga, *partition, validator)});
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
