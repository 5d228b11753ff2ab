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

struct OverPread {
  const char* id;
  Status (*prepare)(const std::filesystem::path&);
  unsigned threads;
  unsigned rounds;
  std::optional<Goal> goal;
};

Status compare(Context& context, const OverPread& row) {
  const auto file_bytes =
      context.choose<std::uint64_t>({.quick = 128_MiB, .usual = 1_GiB, .full = 4_GiB});
  const FilePartition partition{.path = context.word_file(file_bytes).value(),
                                .file_bytes = file_bytes,
                                .task_count = context.choose(kTasks, kTasks / 8),
                                .threads = row.threads};
  const auto memory = PrefaultedMemory::make(file_bytes).value();
  Runtime runtime;
  const auto prepare = [&] { return row.prepare(partition.path); };
  return context.compare(
      {.rows = {{row.id, ratio_of("forebay", "pread"), row.goal}},
       .rounds = row.rounds,
       .variants = {{"forebay", prepare, [&] { return time_session(runtime, partition); }},
                    {"pread", prepare, [&] { return time_pread(partition, memory.bytes()); }}}});
}

}  // namespace

Status bench_random(Context& context) {
  const auto file_bytes = context.choose<std::uint64_t>(512_MiB, 128_MiB);
  FilePartition partition{.path = context.word_file(file_bytes).value(),
                          .file_bytes = file_bytes,
                          .task_count = file_bytes / kRandomTaskBytes};
  partition.shuffle();
  const auto memory = PrefaultedMemory::make(kRandomTaskBytes).value();
  Runtime runtime;
  const std::string blocking = "a thread that blocks";
  const auto cold = [&] { return probe::drop_cached(partition.path); };
  return context.compare(
      {.rows = {{"solo.random.over_pread", ratio_of("forebay", "pread"), Goal{1.05}},
                {"solo.random.blocking.over_pread", ratio_of(blocking, "pread"), Goal{1.05}}},
       .rounds = 7,
       .variants = {{"forebay", cold, [&] { return time_session(runtime, partition); }},
                    {blocking, cold, [&] { return time_blocking_session(runtime, partition); }},
                    {"pread", cold, [&] { return time_pread(partition, memory.bytes()); }}}});
}

Status bench_bandwidth(Context& context) {
  for (const OverPread& row :
       {OverPread{"solo.warm.over_pread", probe::warm, 1, 7, Goal{0.75}},
        OverPread{"solo.warm.two_threads.over_pread", probe::warm, 2, 5, std::nullopt},
        OverPread{"solo.cold.over_pread", probe::drop_cached, 1, 9, Goal{0.85}}}) {
    if (context.is_selected(row.id)) check(compare(context, row));
  }
  return {};
}

}  // namespace forebay::bench::solo
