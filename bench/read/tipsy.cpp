// SPDX-License-Identifier: Apache-2.0
// read.tipsy.over_changa: a snapshot of dark particles, read for 65,536 tasks as ChaNGa reads it,
// and through a session. Both decode all particles and must find the same sums.
#include <algorithm>
#include <thread>
#include <vector>

#include "bench/read/rows.hpp"
#include "bench/read/the_crew.hpp"
#include "tipsy/generate.hpp"
#include "tools/probe/page_cache.hpp"

namespace forebay::bench::read {

namespace {

/// A snapshot and its tasks, which have equally many particles.
Result<Cut> snapshot_cut(Context& context) {
  const std::uint64_t particles = context.choose(1ULL << 25U, 1ULL << 21U);
  tipsy::GenerateOptions options{.path = (context.folder() / "dark.tipsy").string(),
                                 .layout = {.counts = {.dark = particles}},
                                 .threads = std::max(1U, std::thread::hardware_concurrency())};
  const std::uint64_t file_bytes = options.layout.end_bytes();
  if (const Status room = context.require_space(file_bytes); !room)
    return tl::unexpected<Error>(room.error());
  context.report({0, file_bytes, "bytes", "making a snapshot"});
  if (const Status made = tipsy::generate(options); !made)
    return tl::unexpected<Error>(made.error());
  context.report({file_bytes, file_bytes, "bytes", "making a snapshot"});
  return Cut{.path = options.path,
             .file_bytes = file_bytes,
             .task_count = context.choose(std::uint64_t{65536}, std::uint64_t{8192})};
}

/// Fails unless each rank finds the same in every run.
class SameSums {
 public:
  Status check(const std::vector<double>& found) {
    if (first_.empty()) first_ = found;
    if (first_ == found) return {};
    return failure({.kind = ErrorClass::kDamage,
                    .operation = "compare the sums over all particles",
                    .cause = "two ways of reading one snapshot disagree"});
  }

 private:
  std::vector<double> first_;
};

/// One way of reading it, checked.
Variant variant(const char* name, Work work, const Cut& cut, SameSums& same) {
  return {name, [path = cut.path] { return probe::warm(path); },
          [job = Job::of(work, cut), &same]() -> Result<double> {
            const auto measured = the_crew().measure(job);
            if (!measured) return tl::unexpected<Error>(measured.error());
            return same.check(measured->found).map([&] { return measured->seconds; });
          }};
}

}  // namespace

Status bench_tipsy(Context& context) {
  const std::string id = "read.tipsy.over_changa";
  if (!context.wants(id)) return {};
  const auto cut = snapshot_cut(context);
  if (!cut) return tl::unexpected<Error>(cut.error());
  SameSums same;
  const auto rounds = context.run(id, 5,
                                  {variant("forebay", Work::kTipsySession, *cut, same),
                                   variant("ChaNGa", Work::kTipsyChanga, *cut, same)});
  if (!rounds) return tl::unexpected<Error>(rounds.error());
  context.add({.id = id,
               .unit = "1",
               .measured = rounds->ratio("forebay", "ChaNGa"),
               .goal = Goal{0.6},
               .peers = {{"forebay", "s", rounds->summary("forebay")},
                         {"ChaNGa's scheme", "s", rounds->summary("ChaNGa")}}});
  return {};
}

}  // namespace forebay::bench::read
