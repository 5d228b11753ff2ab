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
                        const ComparedRow& row,
                        unsigned rounds,
                        Prepare (*prepare)(const std::filesystem::path&)) {
  const FilePartition partition = large_partition(context);
  std::vector<Variant> variants;
  for (const ReadMethod& method : all_methods())
    variants.push_back(job_variant(method.name, Job::make(method.kernel, partition, method.hints),
                                   prepare(partition.path)));
  return context.compare({.rows = {row}, .rounds = rounds, .variants = variants});
}

Status bench_warm(Context& context) {
  return bench_over_naive(
      context, {"read.warm.over_naive", ratio_of("forebay", "naive"), Goal{0.75}}, 5, warm);
}

Status bench_cold(Context& context) {
  return bench_over_naive(
      context, {"read.cold.over_naive", ratio_of("forebay", "naive"), Goal{0.9}}, 9, cold);
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
  FilePartition partition = large_partition(context);
  std::vector<Variant> variants;
  for (const std::uint64_t tasks : kTaskCounts) {
    partition.task_count = tasks;
    for (const ReadMethod& method : {kForebay, kNaive})
      variants.push_back(job_variant(name_of(method.name, tasks),
                                     Job::make(method.kernel, partition), warm(partition.path)));
  }
  const auto flatness_of = [](const char* method) {
    return [method](const Rounds& rounds) { return flatness(rounds, method); };
  };
  return context.compare({.rows = {{"read.warm.flatness", flatness_of(kForebay.name), Goal{1.10}}},
                          .variants = variants,
                          .more_peers = {{"naive", "1", flatness_of(kNaive.name)}}});
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
  const FilePartition partition{.path = context.word_file(kSmallFileBytes).value(),
                                .file_bytes = kSmallFileBytes,
                                .task_count = kTasks};
  check(probe::warm(partition.path));
  return context.compare(
      {.rows = {{"read.hit_us", value_of("hit"), Goal{0.05}, "us"},
                {"read.request_us", value_of("fetch"), Goal{0.3}, "us"}},
       .rounds = 9,
       .variants = {small_variant("hit", Kernel::kHits, partition, kHitPasses),
                    small_variant("fetch", Kernel::kFetch, partition, 1),
                    small_variant("naive-fd", Kernel::kNaiveDescriptor, partition, 1),
                    small_variant("MPI-IO independent", Kernel::kMpiIndependent, partition, 1)},
       .unit = "us",
       .peers = {{"naive-fd", "MPI-IO independent"}}});
}

/// One-time costs of a program, which other rows exclude.
Status bench_start(Context& context) {
  const FilePartition partition = large_partition(context);
  const auto start = [&]() -> Result<double> {
    return rank_harness().time(Job::make(Kernel::kStart, partition)).map([](double seconds) {
      return seconds * kMilliseconds;
    });
  };
  return context.compare({.rows = {{"read.start_ms", value_of("forebay"), {}, "ms"}},
                          .variants = {{"forebay", warm(partition.path), start}},
                          .peers = std::vector<std::string>{}});
}

std::string scaling_unavailable_reason() {
  const bool all_active =
      rank_harness().ranks(RankSet::kAll).size() == rank_harness().ranks().size();
  return all_active ? "all ranks of the job are active" : "";
}

}  // namespace

FOREBAY_BENCHMARK(read, "many tasks on several ranks read one file, compared with MPI-IO") {
  context.set_parameter("ranks", rank_harness().ranks().size());
  context.set_parameter("mpi", rank_harness().ranks().name());
  return run_each(
      context,
      {{{"read.warm.over_naive"}, bench_warm},
       {{"read.start_ms"}, bench_start},
       {{"read.warm.flatness"}, bench_flatness},
       {{"read.hit_us", "read.request_us"}, bench_requests},
       {{"read.single_us"}, bench_misses},
       {{"read.memory_mib"}, bench_memory},
       {{"read.idle_cpu"}, bench_idle},
       {{"read.cold.over_naive"}, bench_cold},
       {{"read.tipsy.over_changa"}, bench_tipsy},
       {{"read.ranks.scaling"}, bench_scaling, scaling_unavailable_reason},
       {{"read.hosts.over_link", "read.hosts.computing"}, bench_hosts, hosts_unavailable_reason}});
}

}  // namespace forebay::bench::read
