// SPDX-License-Identifier: Apache-2.0
// Over-decomposed reading of one file from the page cache and from the device: each task awaits a
// view of its slice, beside each task reading its slice itself.
#include "bench/frame/clock.hpp"
#include "bench/solo/solo.hpp"
#include "tools/probe/page_cache.hpp"

namespace forebay::bench::solo {

namespace {

constexpr std::uint64_t kTasks = 16384;
constexpr std::uint64_t kRandomTaskBytes = 128_KiB;

/// What a row of this page compares.
struct Comparison {
  std::string id;
  std::function<Status(const std::filesystem::path&)> prepare;
  unsigned threads = 1;
  unsigned rounds = 5;
  std::optional<Goal> goal;
};

Status compare(Context& context, const Comparison& comparison) {
  if (!context.wants(comparison.id)) return {};
  const std::uint64_t file_bytes =
      context.choose<std::uint64_t>({.quick = 128_MiB, .usual = 1_GiB, .full = 4_GiB});
  auto path = context.word_file(file_bytes);
  if (!path) return failure(path.error());
  const Cut cut{.path = *path,
                .file_bytes = file_bytes,
                .task_count = context.choose(kTasks, kTasks / 8),
                .threads = comparison.threads};
  const auto memory = TouchedMemory::make(file_bytes);
  if (!memory) return failure(memory.error());
  Runtime runtime;
  const auto prepare = [&] { return comparison.prepare(cut.path); };
  auto rounds = context.run(comparison.id, comparison.rounds,
                            {{"forebay", prepare, [&] { return time_session(runtime, cut); }},
                             {"pread", prepare, [&] { return time_pread(cut, memory->bytes()); }}});
  if (!rounds) return failure(rounds.error());
  context.add({.id = comparison.id,
               .unit = "1",
               .measured = rounds->ratio("forebay", "pread"),
               .goal = comparison.goal,
               .peers = {{"forebay", "s", rounds->summary("forebay")},
                         {"pread", "s", rounds->summary("pread")}}});
  return {};
}

/// Tasks in random order, a splinter for two of them.
Status compare_random(Context& context) {
  const bool wants_tasks = context.wants("solo.random.over_pread");
  const bool wants_blocking = context.wants("solo.random.blocking.over_pread");
  if (!wants_tasks && !wants_blocking) return {};
  const auto file_bytes = context.choose<std::uint64_t>(512_MiB, 128_MiB);
  const auto path = context.word_file(file_bytes);
  if (!path) return failure(path.error());
  Cut cut{.path = *path, .file_bytes = file_bytes, .task_count = file_bytes / kRandomTaskBytes};
  cut.shuffle();
  const auto memory = TouchedMemory::make(kRandomTaskBytes);
  if (!memory) return failure(memory.error());
  Runtime runtime;
  const auto cold = [&] { return probe::drop_cached(cut.path); };
  auto rounds =
      context.run("solo.random.over_pread", 7,
                  {{"forebay", cold, [&] { return time_session(runtime, cut); }},
                   {"blocking", cold, [&] { return time_blocking_session(runtime, cut); }},
                   {"pread", cold, [&] { return time_pread(cut, memory->bytes()); }}});
  if (!rounds) return failure(rounds.error());
  const std::vector<Peer> peers = {{"forebay", "s", rounds->summary("forebay")},
                                   {"a thread that blocks", "s", rounds->summary("blocking")},
                                   {"pread", "s", rounds->summary("pread")}};
  const Goal goal{1.05};
  if (wants_tasks)
    context.add({"solo.random.over_pread", "1", rounds->ratio("forebay", "pread"), goal, peers});
  if (wants_blocking)
    context.add(
        {"solo.random.blocking.over_pread", "1", rounds->ratio("blocking", "pread"), goal, peers});
  return {};
}

}  // namespace

Status bench_bandwidth(Context& context) {
  if (Status done = compare_random(context); !done) return done;
  const auto warm = [](const std::filesystem::path& path) { return probe::warm(path); };
  const auto cold = [](const std::filesystem::path& path) { return probe::drop_cached(path); };
  for (const Comparison& comparison : {
           Comparison{
               .id = "solo.warm.over_pread", .prepare = warm, .rounds = 7, .goal = Goal{0.75}},
           Comparison{
               .id = "solo.warm.two_threads.over_pread", .prepare = warm, .threads = 2, .goal = {}},
           Comparison{
               .id = "solo.cold.over_pread", .prepare = cold, .rounds = 9, .goal = Goal{0.85}},
       }) {
    if (auto done = compare(context, comparison); !done) return done;
  }
  return {};
}

}  // namespace forebay::bench::solo
