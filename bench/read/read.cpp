// SPDX-License-Identifier: Apache-2.0
// Several ranks, many tasks, one file: sessions compared with reads without them, and with MPI-IO
// at three settings of its hints. Every variant verifies every byte.
#include <algorithm>
#include <utility>
#include <vector>

#include "bench/read/rank_harness_instance.hpp"
#include "bench/read/rows.hpp"
#include "tools/probe/page_cache.hpp"

namespace forebay::bench::read {

namespace {

constexpr std::uint64_t kSmallFileBytes = 16_MiB;
constexpr double kHitPasses = 20;
constexpr double kMilliseconds = 1e3;

struct ReadMethod {
  const char* name;
  Kernel kernel;
  Hints hints = Hints::kDefault;
};

constexpr ReadMethod kForebay{"forebay", Kernel::kSession};
constexpr ReadMethod kNaive{"naive", Kernel::kNaive};

/// All methods of reading a large file.
const std::vector<ReadMethod>& all_methods() {
  static const std::vector<ReadMethod> methods = {
      kForebay,
      kNaive,
      {"naive-fd", Kernel::kNaiveDescriptor},
      {"MPI-IO independent", Kernel::kMpiIndependent},
      {"MPI-IO independent, no sieving", Kernel::kMpiIndependent, Hints::kNoAggregation},
      {"MPI-IO collective", Kernel::kMpiCollective},
      {"MPI-IO collective, no aggregation", Kernel::kMpiCollective, Hints::kNoAggregation},
      {"MPI-IO collective, all aggregate", Kernel::kMpiCollective, Hints::kAggregateAll},
  };
  return methods;
}

std::string name_of(const char* method, std::uint64_t tasks) {
  return std::string(method) + ", " + std::to_string(tasks) + " tasks";
}

/// One row: sessions / naive, with all other methods as peers.
Status bench_over_naive(Context& context,
                        const std::string& id,
                        unsigned rounds,
                        Goal goal,
                        Prepare (*prepare)(const std::filesystem::path&)) {
  if (!context.is_selected(id)) return {};
  const auto partition = large_partition(context);
  if (!partition) return failure(partition.error());
  std::vector<Variant> variants;
  for (const ReadMethod& method : all_methods())
    variants.push_back(job_variant(method.name, Job::make(method.kernel, *partition, method.hints),
                                   prepare(partition->path)));
  return measure_row(
      context, {.id = id, .rounds = rounds, .value = ratio_of("forebay", "naive"), .goal = goal},
      variants);
}

/// The slowest of several numbers of tasks / the fastest, in each round.
Summary flatness(const Rounds& rounds, const char* method) {
  std::vector<double> ratios;
  for (std::size_t round = 0; round < rounds.values(name_of(method, kTasks)).size(); ++round) {
    std::vector<double> times;
    for (const std::uint64_t tasks : kTaskCounts)
      times.push_back(rounds.values(name_of(method, tasks))[round]);
    const auto [least, most] = std::minmax_element(times.begin(), times.end());
    ratios.push_back(*most / *least);
  }
  return summarize(ratios);
}

Status bench_flatness(Context& context) {
  const std::string id = "read.warm.flatness";
  if (!context.is_selected(id)) return {};
  auto partition = large_partition(context);
  if (!partition) return failure(partition.error());
  std::vector<Variant> variants;
  for (const std::uint64_t tasks : kTaskCounts) {
    partition->task_count = tasks;
    for (const ReadMethod& method : {kForebay, kNaive})
      variants.push_back(job_variant(name_of(method.name, tasks),
                                     Job::make(method.kernel, *partition), warm(partition->path)));
  }
  const auto flatness_of = [](const char* method) {
    return [method](const Rounds& rounds) { return flatness(rounds, method); };
  };
  return measure_row(context,
                     {.id = id,
                      .value = flatness_of(kForebay.name),
                      .goal = {1.10},
                      .more_peers = {{"naive", "1", flatness_of(kNaive.name)}}},
                     variants);
}

/// Microseconds for each task of a rank; ranks work concurrently.
Variant small_variant(const char* name,
                      Kernel kernel,
                      const FilePartition& partition,
                      double passes) {
  return {name, {}, [=]() -> Result<double> {
            const double tasks = static_cast<double>(partition.task_count) * passes;
            return rank_harness().time(Job::make(kernel, partition)).map([tasks](double seconds) {
              return seconds * kMicroseconds / tasks;
            });
          }};
}

Status bench_requests(Context& context) {
  const bool is_hit_selected = context.is_selected("read.hit_us");
  const bool is_request_selected = context.is_selected("read.request_us");
  if (!is_hit_selected && !is_request_selected) return {};
  const auto path = context.word_file(kSmallFileBytes);
  if (!path) return failure(path.error());
  if (auto warmed = probe::warm(*path); !warmed) return warmed;
  const FilePartition partition{.path = *path, .file_bytes = kSmallFileBytes, .task_count = kTasks};
  const auto rounds =
      context.run("read.request_us", 9,
                  {small_variant("hit", Kernel::kHits, partition, kHitPasses),
                   small_variant("fetch", Kernel::kFetch, partition, 1),
                   small_variant("naive-fd", Kernel::kNaiveDescriptor, partition, 1),
                   small_variant("MPI-IO independent", Kernel::kMpiIndependent, partition, 1)});
  if (!rounds) return failure(rounds.error());
  const std::vector<Peer> peers = {
      {"naive-fd", "us", rounds->summary("naive-fd")},
      {"MPI-IO independent", "us", rounds->summary("MPI-IO independent")}};
  if (is_hit_selected)
    context.add({"read.hit_us", "us", rounds->summary("hit"), Goal{0.05}, peers});
  if (is_request_selected)
    context.add({"read.request_us", "us", rounds->summary("fetch"), Goal{0.3}, peers});
  return {};
}

/// One-time costs of a program, which other rows exclude.
Status bench_start(Context& context) {
  const std::string id = "read.start_ms";
  if (!context.is_selected(id)) return {};
  const auto partition = large_partition(context);
  if (!partition) return failure(partition.error());
  const Variant start{
      "forebay", warm(partition->path), [&]() -> Result<double> {
        return rank_harness().time(Job::make(Kernel::kStart, *partition)).map([](double seconds) {
          return seconds * kMilliseconds;
        });
      }};
  const auto rounds = context.run(id, 5, {start});
  if (!rounds) return failure(rounds.error());
  context.add({id, "ms", rounds->summary("forebay"), {}, {}});
  return {};
}

}  // namespace

FOREBAY_BENCHMARK(read, "many tasks on several ranks read one file, compared with MPI-IO") {
  context.set_parameter("ranks", rank_harness().ranks().size());
  context.set_parameter("mpi", rank_harness().ranks().name());
  if (auto done = bench_over_naive(context, "read.warm.over_naive", 5, Goal{0.75}, warm); !done)
    return done;
  if (auto done = bench_start(context); !done) return done;
  if (auto done = bench_flatness(context); !done) return done;
  if (auto done = bench_requests(context); !done) return done;
  if (auto done = bench_misses(context); !done) return done;
  if (auto done = bench_memory(context); !done) return done;
  if (auto done = bench_idle(context); !done) return done;
  if (auto done = bench_over_naive(context, "read.cold.over_naive", 9, Goal{0.9}, cold); !done)
    return done;
  if (auto done = bench_tipsy(context); !done) return done;
  if (auto done = bench_scaling(context); !done) return done;
  return bench_hosts(context);
}

}  // namespace forebay::bench::read
