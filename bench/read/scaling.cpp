// SPDX-License-Identifier: Apache-2.0
// read.ranks.scaling: what it costs that more ranks than cores share the work. All ranks of the job
// read the file that else only the crew reads, as many tasks in all, in pairs within one run.
#include "bench/read/rows.hpp"
#include "bench/read/the_crew.hpp"
#include "tools/probe/page_cache.hpp"

namespace forebay::bench::read {

namespace {

std::string name_of(Work work, Reach reach) {
  const std::string name = work == Work::kSession ? "forebay" : "naive";
  return name + ", " + std::to_string(the_crew().ranks(reach).size()) + " ranks";
}

Variant variant(Work work, Reach reach, const Cut& cut) {
  Job job = Job::of(work, cut);
  job.reach = reach;
  return {name_of(work, reach), [path = cut.path] { return probe::warm(path); },
          [job] { return the_crew().time(job); }};
}

Summary scaling(const Rounds& rounds, Work work) {
  return rounds.ratio(name_of(work, Reach::kEverybody), name_of(work, Reach::kCrew));
}

}  // namespace

Status bench_scaling(Context& context) {
  const std::string id = "read.ranks.scaling";
  if (!context.wants(id)) return {};
  if (the_crew().ranks(Reach::kEverybody).size() == the_crew().ranks().size()) {
    context.leave_out(id, "the job has no more ranks than the crew");
    return {};
  }
  const auto cut = large_cut(context);
  if (!cut) return failure(cut.error());
  const std::vector<Variant> variants = {
      variant(Work::kSession, Reach::kEverybody, *cut), variant(Work::kSession, Reach::kCrew, *cut),
      variant(Work::kNaive, Reach::kEverybody, *cut), variant(Work::kNaive, Reach::kCrew, *cut)};
  const auto rounds = context.run(id, 9, variants);
  if (!rounds) return failure(rounds.error());
  std::vector<Peer> peers = {{"naive", "1", scaling(*rounds, Work::kNaive)}};
  for (const Variant& variant : variants)
    peers.push_back({variant.name, "s", rounds->summary(variant.name)});
  context.add({id, "1", scaling(*rounds, Work::kSession), Goal{1.2}, std::move(peers)});
  return {};
}

}  // namespace forebay::bench::read
