// SPDX-License-Identifier: Apache-2.0
// bench servers: one file on a mount of emufs, cut into a growing number of tasks, through a
// session and with tasks that read by themselves: the time compared with the limit of the storage,
// and the activity of its servers meanwhile, which explains the time.
#include <array>
#include <string>
#include <vector>

#include "bench/read/emufs_monitor.hpp"
#include "bench/read/rank_harness_instance.hpp"
#include "bench/read/rows.hpp"

namespace forebay::bench::read {

namespace {

using nlohmann::json;

constexpr double kMegabyte = 1e6;

struct ReadMethod {
  const char* name;
  Kernel kernel;
};
constexpr std::array<ReadMethod, 2> kMethods{
    {{"naive", Kernel::kNaive}, {"forebay", Kernel::kSession}}};

std::string id_of(std::uint64_t tasks) { return "servers." + std::to_string(tasks); }

std::string name_of(std::uint64_t tasks, const ReadMethod& reader) {
  return id_of(tasks) + ", " + reader.name;
}

/// Reads, and records the counters of servers.
class CounterRecorder {
 public:
  CounterRecorder(const EmufsMonitor& storage, FilePartition partition)
      : storage_(storage), partition_(std::move(partition)) {}

  Variant variant(std::uint64_t tasks, const ReadMethod& reader) {
    return {name_of(tasks, reader), cold(partition_.path),
            [this, tasks, reader] { return measure(tasks, reader); }};
  }
  /// The counters of each measurement, in order.
  const json& records() const noexcept { return records_; }
  void clear() { records_ = json::array(); }

 private:
  Result<double> measure(std::uint64_t tasks, const ReadMethod& reader) {
    partition_.task_count = tasks;
    if (auto done = storage_.reset_counters(); !done) return failure(done.error());
    const auto seconds = rank_harness().time(Job::make(reader.kernel, partition_));
    if (!seconds) return seconds;
    auto counts = storage_.counters();
    if (!counts) return failure(counts.error());
    counts->update({{"tasks", tasks}, {"reader", reader.name}, {"seconds", *seconds}});
    records_.push_back(std::move(*counts));
    return seconds;
  }

  const EmufsMonitor& storage_;
  FilePartition partition_;
  json records_ = json::array();
};

void skip(Context& context, const std::vector<std::uint64_t>& counts) {
  for (const std::uint64_t tasks : counts) {
    context.skip(
        id_of(tasks),
        "the directory is not in a mount of emufs; create one with `forebay emufs mount`, and "
        "name it with --dir");
  }
}

/// One round is enough: times are of the emulated machine and not of the disk, and 16384 opens, one
/// after the other, take long. A run before it absorbs the costs of first use of code and memory.
Result<Rounds> run(Context& context,
                   CounterRecorder& recorder,
                   const std::vector<std::uint64_t>& counts) {
  std::vector<Variant> variants;
  for (const std::uint64_t tasks : counts) {
    for (const ReadMethod& reader : kMethods)
      variants.push_back(recorder.variant(tasks, reader));
  }
  const std::vector<Variant> first(variants.begin(), variants.begin() + kMethods.size());
  if (auto warm = run_rounds(first, {.rounds = 1, .warm_ups = 0}); !warm) return warm;
  recorder.clear();
  const auto on_progress = [&context](std::size_t done, std::size_t total) {
    context.report({done, total, "runs", "servers"});
  };
  return run_rounds(variants, {.rounds = 1, .warm_ups = 0, .on_progress = on_progress});
}

void add_row(Context& context, const Rounds& rounds, std::uint64_t tasks) {
  const std::string naive = name_of(tasks, kMethods[0]);
  const std::string ours = name_of(tasks, kMethods[1]);
  context.add(
      {.id = id_of(tasks),
       .unit = "1",
       .measured = rounds.ratio(ours, naive),
       .goal = {},
       .peers = {{"forebay", "s", rounds.summary(ours)}, {"naive", "s", rounds.summary(naive)}}});
}

Status measure(Context& context,
               const EmufsMonitor& storage,
               const std::vector<std::uint64_t>& counts) {
  const auto limit = storage.limit();
  if (!limit) return failure(limit.error());
  const auto file_bytes =
      context.choose<std::uint64_t>({.quick = 64_MiB, .usual = 256_MiB, .full = 1_GiB});
  const auto path = context.word_file(file_bytes);
  if (!path) return failure(path.error());
  CounterRecorder recorder(storage, {.path = *path, .file_bytes = file_bytes, .task_count = 1});
  const auto rounds = run(context, recorder, counts);
  if (!rounds) return failure(rounds.error());
  for (const std::uint64_t tasks : counts)
    add_row(context, *rounds, tasks);
  context.set_parameter("ranks", rank_harness().ranks().size());
  context.set_parameter("file_bytes", file_bytes);
  context.set_parameter("storage", limit->machine);
  context.set_parameter("limit_s", static_cast<double>(file_bytes) / kMegabyte / limit->mb_per_s);
  context.set_parameter("runs", recorder.records());
  return {};
}

}  // namespace

FOREBAY_BENCHMARK(servers, "many tasks on a mount of emufs, and the activity of its servers") {
  std::vector<std::uint64_t> counts;
  for (const std::uint64_t tasks : kTaskCounts) {
    if (context.is_selected(id_of(tasks))) counts.push_back(tasks);
  }
  const auto storage = EmufsMonitor::find(context.directory());
  if (storage && !counts.empty()) return measure(context, *storage, counts);
  skip(context, counts);
  return {};
}

}  // namespace forebay::bench::read
