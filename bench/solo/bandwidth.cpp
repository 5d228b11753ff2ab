// SPDX-License-Identifier: Apache-2.0
// Over-decomposed reading of one file from the page cache and from the device: tasks that await a
// view of their slice, compared with tasks that read their slice themselves.
#include "bench/frame/clock.hpp"
#include "bench/solo/solo.hpp"
#include "tools/probe/page_cache.hpp"

namespace forebay::bench::solo {

namespace {

constexpr std::uint64_t kTasks = 16384;
constexpr std::uint64_t kRandomTaskBytes = 128_KiB;

/// The parameters of one row.
struct Comparison {
  std::string id;
  std::function<Status(const std::filesystem::path&)> prepare;
  unsigned threads = 1;
  unsigned rounds = 5;
  std::optional<Goal> goal;
};

Status compare(Context& context, const Comparison& comparison) {
  if (!context.is_selected(comparison.id)) return {};
  const std::uint64_t file_bytes =
      context.choose<std::uint64_t>({.quick = 128_MiB, .usual = 1_GiB, .full = 4_GiB});
  auto path = context.word_file(file_bytes);
  if (!path) return failure(path.error());
  const FilePartition partition{.path = *path,
                                .file_bytes = file_bytes,
                                .task_count = context.choose(kTasks, kTasks / 8),
                                .threads = comparison.threads};
  const auto memory = PrefaultedMemory::make(file_bytes);
  if (!memory) return failure(memory.error());
  Runtime runtime;
  const auto prepare = [&] { return comparison.prepare(partition.path); };
  auto rounds =
      context.run(comparison.id, comparison.rounds,
                  {{"forebay", prepare, [&] { return time_session(runtime, partition); }},
                   {"pread", prepare, [&] { return time_pread(partition, memory->bytes()); }}});
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
  const bool is_tasks_selected = context.is_selected("solo.random.over_pread");
  const bool is_blocking_selected = context.is_selected("solo.random.blocking.over_pread");
  if (!is_tasks_selected && !is_blocking_selected) return {};
  const auto file_bytes = context.choose<std::uint64_t>(512_MiB, 128_MiB);
  const auto path = context.word_file(file_bytes);
  if (!path) return failure(path.error());
  FilePartition partition{
      .path = *path, .file_bytes = file_bytes, .task_count = file_bytes / kRandomTaskBytes};
  partition.shuffle();
  const auto memory = PrefaultedMemory::make(kRandomTaskBytes);
  if (!memory) return failure(memory.error());
  Runtime runtime;
  const auto cold = [&] { return probe::drop_cached(partition.path); };
  auto rounds =
      context.run("solo.random.over_pread", 7,
                  {{"forebay", cold, [&] { return time_session(runtime, partition); }},
                   {"blocking", cold, [&] { return time_blocking_session(runtime, partition); }},
                   {"pread", cold, [&] { return time_pread(partition, memory->bytes()); }}});
  if (!rounds) return failure(rounds.error());
  const std::vector<Peer> peers = {{"forebay", "s", rounds->summary("forebay")},
                                   {"a thread that blocks", "s", rounds->summary("blocking")},
                                   {"pread", "s", rounds->summary("pread")}};
  const Goal goal{1.05};
  if (is_tasks_selected)
    context.add({"solo.random.over_pread", "1", rounds->ratio("forebay", "pread"), goal, peers});
  if (is_blocking_selected)
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
