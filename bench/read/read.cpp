// SPDX-License-Identifier: Apache-2.0
// Several ranks, many tasks, one file: sessions beside what programs do without them, and beside
// MPI-IO at three settings of its hints. Every byte is checked by every variant.
#include <algorithm>
#include <utility>
#include <vector>

#include "bench/read/rows.hpp"
#include "bench/read/the_crew.hpp"
#include "tools/probe/page_cache.hpp"

namespace forebay::bench::read {

namespace {

constexpr std::uint64_t kSmallFileBytes = 16_MiB;
constexpr double kHitPasses = 20;
constexpr double kMilliseconds = 1e3;

struct Way {
  const char* name;
  Work work;
  Hints hints = Hints::kDefault;
};

constexpr Way kForebay{"forebay", Work::kSession};
constexpr Way kNaive{"naive", Work::kNaive};

/// All ways of reading a large file.
const std::vector<Way>& all_ways() {
  static const std::vector<Way> ways = {
      kForebay,
      kNaive,
      {"naive-fd", Work::kNaiveDescriptor},
      {"MPI-IO independent", Work::kMpiIndependent},
      {"MPI-IO independent, no sieving", Work::kMpiIndependent, Hints::kNoAggregation},
      {"MPI-IO collective", Work::kMpiCollective},
      {"MPI-IO collective, no aggregation", Work::kMpiCollective, Hints::kNoAggregation},
      {"MPI-IO collective, all aggregate", Work::kMpiCollective, Hints::kAggregateAll},
  };
  return ways;
}

Variant variant(const Way& way, const Cut& cut, const Prepare& prepare) {
  return {way.name, prepare,
          [way, cut] { return the_crew().time(Job::of(way.work, cut, way.hints)); }};
}

std::vector<Peer> peers_of(const Rounds& rounds) {
  std::vector<Peer> peers;
  for (const Way& way : all_ways())
    peers.push_back({way.name, "s", rounds.summary(way.name)});
  return peers;
}

/// One row: sessions over naive, with all other ways beside them.
Status bench_over_naive(Context& context,
                        const std::string& id,
                        unsigned round_count,
                        Goal goal,
                        const std::function<Status(const std::filesystem::path&)>& bring) {
  if (!context.wants(id)) return {};
  const auto cut = large_cut(context);
  if (!cut) return failure(cut.error());
  const Prepare prepare = [&] { return bring(cut->path); };
  std::vector<Variant> variants;
  for (const Way& way : all_ways())
    variants.push_back(variant(way, *cut, prepare));
  const auto rounds = context.run(id, round_count, variants);
  if (!rounds) return failure(rounds.error());
  context.add({.id = id,
               .unit = "1",
               .measured = rounds->ratio("forebay", "naive"),
               .goal = goal,
               .peers = peers_of(*rounds)});
  return {};
}

/// The slowest of several numbers of tasks over the fastest, in each round.
Summary flatness(const Rounds& rounds, const std::vector<std::string>& names) {
  std::vector<double> ratios;
  for (std::size_t round = 0; round < rounds.values(names.front()).size(); ++round) {
    std::vector<double> times;
    for (const std::string& name : names)
      times.push_back(rounds.values(name)[round]);
    const auto [least, most] = std::minmax_element(times.begin(), times.end());
    ratios.push_back(*most / *least);
  }
  return summarise(ratios);
}

Status bench_flatness(Context& context) {
  const std::string id = "read.warm.flatness";
  if (!context.wants(id)) return {};
  auto cut = large_cut(context);
  if (!cut) return failure(cut.error());
  std::vector<Variant> variants;
  std::vector<std::string> ours;
  std::vector<std::string> theirs;
  for (const std::uint64_t tasks : kTaskCounts) {
    cut->task_count = tasks;
    const Prepare warm = [path = cut->path] { return probe::warm(path); };
    for (const Way& way : {kForebay, kNaive}) {
      Variant one = variant(way, *cut, warm);
      one.name += ", " + std::to_string(tasks) + " tasks";
      (way.work == Work::kSession ? ours : theirs).push_back(one.name);
      variants.push_back(std::move(one));
    }
  }
  const auto rounds = context.run(id, 5, variants);
  if (!rounds) return failure(rounds.error());
  std::vector<Peer> peers = {{"naive", "1", flatness(*rounds, theirs)}};
  for (const auto* names : {&ours, &theirs}) {
    for (const std::string& name : *names)
      peers.push_back({name, "s", rounds->summary(name)});
  }
  context.add({id, "1", flatness(*rounds, ours), Goal{1.10}, std::move(peers)});
  return {};
}

/// Microseconds for each task of a rank; ranks work side by side.
Variant small_variant(const char* name, Work work, const Cut& cut, double passes) {
  return {name, {}, [=]() -> Result<double> {
            const double tasks = static_cast<double>(cut.task_count) * passes;
            return the_crew().time(Job::of(work, cut)).map([tasks](double seconds) {
              return seconds * kMicroseconds / tasks;
            });
          }};
}

Status bench_requests(Context& context) {
  const bool wants_hit = context.wants("read.hit_us");
  const bool wants_request = context.wants("read.request_us");
  if (!wants_hit && !wants_request) return {};
  const auto path = context.word_file(kSmallFileBytes);
  if (!path) return failure(path.error());
  if (auto warmed = probe::warm(*path); !warmed) return warmed;
  const Cut cut{.path = *path, .file_bytes = kSmallFileBytes, .task_count = kTasks};
  const auto rounds =
      context.run("read.request_us", 9,
                  {small_variant("hit", Work::kHits, cut, kHitPasses),
                   small_variant("fetch", Work::kFetch, cut, 1),
                   small_variant("naive-fd", Work::kNaiveDescriptor, cut, 1),
                   small_variant("MPI-IO independent", Work::kMpiIndependent, cut, 1)});
  if (!rounds) return failure(rounds.error());
  const std::vector<Peer> peers = {
      {"naive-fd", "us", rounds->summary("naive-fd")},
      {"MPI-IO independent", "us", rounds->summary("MPI-IO independent")}};
  if (wants_hit) context.add({"read.hit_us", "us", rounds->summary("hit"), Goal{0.05}, peers});
  if (wants_request)
    context.add({"read.request_us", "us", rounds->summary("fetch"), Goal{0.3}, peers});
  return {};
}

/// What a program pays once, and rows of times leave out.
Status bench_start(Context& context) {
  const std::string id = "read.start_ms";
  if (!context.wants(id)) return {};
  const auto cut = large_cut(context);
  if (!cut) return failure(cut.error());
  const Variant start{"forebay", [&] { return probe::warm(cut->path); },
                      [&]() -> Result<double> {
                        return the_crew().time(Job::of(Work::kStart, *cut)).map([](double seconds) {
                          return seconds * kMilliseconds;
                        });
                      }};
  const auto rounds = context.run(id, 5, {start});
  if (!rounds) return failure(rounds.error());
  context.add({id, "ms", rounds->summary("forebay"), {}, {}});
  return {};
}

}  // namespace

FOREBAY_BENCHMARK(read, "many tasks on several ranks read one file, beside MPI-IO") {
  context.set_parameter("ranks", the_crew().ranks().size());
  context.set_parameter("mpi", the_crew().ranks().name());
  const auto warm = [](const std::filesystem::path& path) { return probe::warm(path); };
  const auto cold = [](const std::filesystem::path& path) { return probe::drop_cached(path); };
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
