// SPDX-License-Identifier: Apache-2.0
// read.memory_mib: memory that sessions really take on a node. The proportional set sizes of all
// ranks of a node are added up while they read a file that is not in the page cache, where windows
// are largest; the peak of that, less the peak of the same tasks that read by themselves through
// one buffer a rank. Each run begins without a Runtime and without memory of earlier ones.
#include "bench/frame/peak_memory.hpp"
#include "bench/read/rows.hpp"
#include "bench/read/the_crew.hpp"
#include "tools/probe/page_cache.hpp"

namespace forebay::bench::read {

namespace {

constexpr double kMebibyte = 1024.0 * 1024.0;

/// The most that the node's ranks had together during a job, in MiB.
Result<double> peak_of(Work work, const Cut& cut) {
  // What other ranks have left of earlier jobs must not be in the first sample.
  if (auto alone = the_crew().time(Job::of(Work::kForget, cut)); !alone) return alone;
  const auto peak = PeakMemory::start(the_crew().processes_of_node());
  if (!peak) return failure(peak.error());
  return the_crew().time(Job::of(work, cut)).map([&](double) {
    return static_cast<double>((*peak)->stop()) / kMebibyte;
  });
}

}  // namespace

Status bench_memory(Context& context) {
  const std::string id = "read.memory_mib";
  if (!context.wants(id)) return {};
  const auto cut = large_cut(context);
  if (!cut) return failure(cut.error());
  const Prepare cold = [&] { return probe::drop_cached(cut->path); };
  const Prepare warm = [&] { return probe::warm(cut->path); };
  const auto rounds =
      context.run(id, 5,
                  {{"forebay", cold, [&] { return peak_of(Work::kBareSession, *cut); }},
                   {"forebay, page cache", warm, [&] { return peak_of(Work::kBareSession, *cut); }},
                   {"plain", cold, [&] { return peak_of(Work::kBareNaive, *cut); }}});
  if (!rounds) return failure(rounds.error());
  context.add({.id = id,
               .unit = "MiB",
               .measured = rounds->difference("forebay", "plain"),
               .goal = Goal{96},
               .peers = {{"the same from the page cache", "MiB",
                          rounds->difference("forebay, page cache", "plain")},
                         {"all ranks", "MiB", rounds->summary("forebay")},
                         {"all ranks without sessions", "MiB", rounds->summary("plain")}}});
  return {};
}

}  // namespace forebay::bench::read
