// SPDX-License-Identifier: Apache-2.0
// bench servers: one file on a mount of emufs, cut into more and more tasks, through a session and
// with tasks that read for themselves: how long it takes beside what the storage could do, and what
// its servers did meanwhile. That says why, where the time alone only says how much.
#include <array>
#include <string>
#include <vector>

#include "bench/read/emulated_storage.hpp"
#include "bench/read/rows.hpp"
#include "bench/read/the_crew.hpp"
#include "tools/probe/page_cache.hpp"

namespace forebay::bench::read {

namespace {

using nlohmann::json;

constexpr double kMegabyte = 1e6;

struct Reader {
  const char* name;
  Work work;
};
constexpr std::array<Reader, 2> kReaders{{{"naive", Work::kNaive}, {"forebay", Work::kSession}}};

std::string id_of(std::uint64_t tasks) { return "servers." + std::to_string(tasks); }

std::string name_of(std::uint64_t tasks, const Reader& reader) {
  return id_of(tasks) + ", " + reader.name;
}

/// Reads and counts what servers do meanwhile.
class Watch {
 public:
  Watch(const EmulatedStorage& storage, Cut cut) : storage_(storage), cut_(std::move(cut)) {}

  Variant variant(std::uint64_t tasks, const Reader& reader) {
    return {name_of(tasks, reader), [path = cut_.path] { return probe::drop_cached(path); },
            [this, tasks, reader] { return measure(tasks, reader); }};
  }
  /// Of each measurement, what servers did, in the order of measurements.
  const json& seen() const noexcept { return seen_; }
  void forget() { seen_ = json::array(); }

 private:
  Result<double> measure(std::uint64_t tasks, const Reader& reader) {
    cut_.task_count = tasks;
    if (auto done = storage_.count_anew(); !done) return failure(done.error());
    const auto seconds = the_crew().time(Job::of(reader.work, cut_));
    if (!seconds) return seconds;
    auto counts = storage_.counts();
    if (!counts) return failure(counts.error());
    counts->update({{"tasks", tasks}, {"reader", reader.name}, {"seconds", *seconds}});
    seen_.push_back(std::move(*counts));
    return seconds;
  }

  const EmulatedStorage& storage_;
  Cut cut_;
  json seen_ = json::array();
};

void leave_out(Context& context, const std::vector<std::uint64_t>& counts) {
  for (const std::uint64_t tasks : counts) {
    context.leave_out(id_of(tasks),
                      "the folder is in no mount of emufs; `forebay emufs mount` makes one, and "
                      "--dir names it");
  }
}

/// All in one round: time is that of the emulated machine and not of the disk, so that one says
/// what five would, and 16384 opens, one after the other, take long enough. What first use of code
/// and memory costs is left to runs before it.
Result<Rounds> run(Context& context, Watch& watch, const std::vector<std::uint64_t>& counts) {
  std::vector<Variant> variants;
  for (const std::uint64_t tasks : counts) {
    for (const Reader& reader : kReaders)
      variants.push_back(watch.variant(tasks, reader));
  }
  const std::vector<Variant> first(variants.begin(), variants.begin() + kReaders.size());
  if (auto warm = run_rounds(first, {.rounds = 1, .warm_ups = 0}); !warm) return warm;
  watch.forget();
  const auto tell = [&context](std::size_t done, std::size_t total) {
    context.report({done, total, "runs", "servers"});
  };
  return run_rounds(variants, {.rounds = 1, .warm_ups = 0, .on_progress = tell});
}

void add_row(Context& context, const Rounds& rounds, std::uint64_t tasks) {
  const std::string naive = name_of(tasks, kReaders[0]);
  const std::string ours = name_of(tasks, kReaders[1]);
  context.add(
      {.id = id_of(tasks),
       .unit = "1",
       .measured = rounds.ratio(ours, naive),
       .goal = {},
       .peers = {{"forebay", "s", rounds.summary(ours)}, {"naive", "s", rounds.summary(naive)}}});
}

Status measure(Context& context,
               const EmulatedStorage& storage,
               const std::vector<std::uint64_t>& counts) {
  const auto limit = storage.limit();
  if (!limit) return failure(limit.error());
  const auto file_bytes =
      context.choose<std::uint64_t>({.quick = 64_MiB, .usual = 256_MiB, .full = 1_GiB});
  const auto path = context.word_file(file_bytes);
  if (!path) return failure(path.error());
  Watch watch(storage, {.path = *path, .file_bytes = file_bytes, .task_count = 1});
  const auto rounds = run(context, watch, counts);
  if (!rounds) return failure(rounds.error());
  for (const std::uint64_t tasks : counts)
    add_row(context, *rounds, tasks);
  context.set_parameter("ranks", the_crew().ranks().size());
  context.set_parameter("file_bytes", file_bytes);
  context.set_parameter("storage", limit->machine);
  context.set_parameter("limit_s", static_cast<double>(file_bytes) / kMegabyte / limit->mb_per_s);
  context.set_parameter("seen", watch.seen());
  return {};
}

}  // namespace

FOREBAY_BENCHMARK(servers, "many tasks on a mount of emufs, and what its servers did meanwhile") {
  std::vector<std::uint64_t> counts;
  for (const std::uint64_t tasks : kTaskCounts) {
    if (context.wants(id_of(tasks))) counts.push_back(tasks);
  }
  const auto storage = EmulatedStorage::around(context.folder());
  if (storage && !counts.empty()) return measure(context, *storage, counts);
  leave_out(context, counts);
  return {};
}

}  // namespace forebay::bench::read
