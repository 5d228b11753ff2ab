// SPDX-License-Identifier: Apache-2.0
// Transfers of one file by the engine and by fio, in alternating pairs: what a device gives is not
// the same for a minute, so only neighbours are compared.
#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <vector>

#include "bench/engine/engine.hpp"
#include "bench/engine/fio.hpp"
#include "bench/engine/transfers.hpp"
#include "bench/frame/statistics.hpp"
#include "storage/file.hpp"
#include "tools/probe/page_cache.hpp"

namespace forebay::bench::engine {

namespace {

constexpr unsigned kPairs = 21;
constexpr std::uint32_t kDepthMax = 32;
constexpr double kMega = 1e6;
constexpr double kNano = 1e-9;

enum class Who : std::uint8_t { kForebay, kFio, kFioSmallPages };

/// All sides, on one file.
class Bench {
 public:
  static Result<std::unique_ptr<Bench>> make(Context& context, std::uint64_t request_bytes);

  Result<Taken> run(Who who, Load load) {
    load.file_bytes = file_bytes_;
    if (who == Who::kForebay) return transfers_->run(load, path_.string());
    const FioMemory memory = who == Who::kFio ? FioMemory::kHugePages : FioMemory::kItsOwn;
    return run_fio(load, memory, path_, context_.folder());
  }

  /// The depth that moves most bytes a second, in one run of each.
  Result<std::uint32_t> best_depth(Who who, Load load);

  std::uint64_t file_bytes() const { return file_bytes_; }

 private:
  Bench(Context& context, std::uint64_t file_bytes, std::unique_ptr<Transfers> transfers)
      : context_(context),
        file_bytes_(file_bytes),
        path_(context.folder() / "transfers"),
        transfers_(std::move(transfers)) {}

  Status write_file();

  Context& context_;
  std::uint64_t file_bytes_;
  std::filesystem::path path_;
  std::unique_ptr<Transfers> transfers_;
};

/// Blocks that are written: reading and overwriting them is what is compared, not making them.
Status Bench::write_file() {
  auto file = storage::open_file(path_.string(), {.intent = storage::Intent::kCreate});
  if (!file) return failure(file.error());
  const std::vector<std::byte> piece(8_MiB, std::byte{7});
  for (std::uint64_t at = 0; at < file_bytes_; at += piece.size()) {
    if (auto wrote = (*file)->write_at(piece, at); !wrote) return failure(wrote.error());
  }
  if (auto synced = (*file)->sync(); !synced) return synced;
  return probe::drop_cached(path_);
}

Result<std::unique_ptr<Bench>> Bench::make(Context& context, std::uint64_t request_bytes) {
  const std::uint64_t file_bytes = context.choose<std::uint64_t>(1_GiB, 64_MiB);
  if (auto room = context.require_space(file_bytes); !room) return failure(room.error());
  auto transfers = Transfers::make(request_bytes, kDepthMax);
  if (!transfers) return failure(transfers.error());
  std::unique_ptr<Bench> bench(new Bench(context, file_bytes, std::move(*transfers)));
  if (auto written = bench->write_file(); !written) return failure(written.error());
  return bench;
}

Result<std::uint32_t> Bench::best_depth(Who who, Load load) {
  double best_seconds = 0;
  std::uint32_t best = 0;
  for (load.depth = 1; load.depth <= kDepthMax; load.depth *= 2) {
    const auto taken = run(who, load);
    if (!taken) return failure(taken.error());
    if (best == 0 || taken->seconds < best_seconds) {
      best = load.depth;
      best_seconds = taken->seconds;
    }
  }
  return best;
}

/// One row: what is compared of a load, and how it is printed.
struct Row {
  std::string id;
  Load load;
  bool best_depth = false;
  Goal goal;
  std::string unit;
  double (*measure)(const Taken& taken, const Load& load) = nullptr;
};

double bandwidth(const Taken& taken, const Load& load) {
  return static_cast<double>(load.total_bytes) / taken.seconds / kMega;
}

double requests_per_second(const Taken& taken, const Load& load) {
  return static_cast<double>(load.total_bytes) / static_cast<double>(load.request_bytes) /
         taken.seconds;
}

double cpu_per_byte(const Taken& taken, const Load& load) {
  return taken.cpu_seconds / kNano / static_cast<double>(load.total_bytes);
}

Status compare(Context& context, Bench& bench, const Row& row) {
  std::map<Who, Load> loads{
      {Who::kForebay, row.load}, {Who::kFio, row.load}, {Who::kFioSmallPages, row.load}};
  for (auto& [who, load] : loads) {
    if (!row.best_depth) continue;
    const auto depth = bench.best_depth(who, load);
    if (!depth) return failure(depth.error());
    load.depth = *depth;
  }
  const auto variant = [&](const std::string& name, Who who) {
    return Variant{name, {}, [&bench, &row, &loads, who]() -> Result<double> {
                     const auto taken = bench.run(who, loads[who]);
                     if (!taken) return failure(taken.error());
                     return row.measure(*taken, row.load);
                   }};
  };
  const auto rounds = context.run(row.id, context.choose(kPairs, 3U),
                                  {variant("forebay", Who::kForebay), variant("fio", Who::kFio),
                                   variant("fio, small pages", Who::kFioSmallPages)});
  if (!rounds) return failure(rounds.error());
  // Kernels that count processor time in ticks of some milliseconds may count none.
  if (std::ranges::find(rounds->values("fio"), 0.0) != rounds->values("fio").end()) {
    context.leave_out(row.id, "fio took less processor time than the kernel counts");
    return {};
  }
  context.set_parameter(row.id + ".depth",
                        {{"forebay", loads[Who::kForebay].depth}, {"fio", loads[Who::kFio].depth}});
  context.add({.id = row.id,
               .unit = "1",
               .measured = rounds->ratio("forebay", "fio"),
               .goal = row.goal,
               .peers = {{"forebay", row.unit, rounds->summary("forebay")},
                         {"fio", row.unit, rounds->summary("fio")},
                         {"fio, small pages", row.unit, rounds->summary("fio, small pages")}}});
  return {};
}

std::vector<Row> rows(std::uint64_t file_bytes) {
  constexpr std::uint64_t kRandomShare = 4;  // of the file's bytes, in 4 KiB requests
  const Load reading{.request_bytes = 1_MiB, .total_bytes = file_bytes};
  Load writing = reading;
  writing.direction = Direction::kWrite;
  Load random{.order = Order::kRandom, .request_bytes = 4_KiB, .depth = kDepthMax};
  random.total_bytes = file_bytes / kRandomShare;
  Load at_depth = reading;
  at_depth.depth = 8;
  Load large = at_depth;
  large.request_bytes = 4_MiB;
  return {{.id = "engine.seq_read.over_fio",
           .load = reading,
           .best_depth = true,
           .goal = {0.93, Better::kHigher},
           .unit = "MB/s",
           .measure = bandwidth},
          {.id = "engine.seq_write.over_fio",
           .load = writing,
           .best_depth = true,
           .goal = {0.93, Better::kHigher},
           .unit = "MB/s",
           .measure = bandwidth},
          {.id = "engine.rand_read.over_fio",
           .load = random,
           .goal = {0.9, Better::kHigher},
           .unit = "1/s",
           .measure = requests_per_second},
          {.id = "engine.cpu.over_fio",
           .load = at_depth,
           .goal = {1.3},
           .unit = "ns/B",
           .measure = cpu_per_byte},
          {.id = "engine.cpu.over_fio.4m",
           .load = large,
           .goal = {1.1},
           .unit = "ns/B",
           .measure = cpu_per_byte}};
}

}  // namespace

Status bench_over_fio(Context& context) {
  std::vector<Row> wanted;
  for (Row& row : rows(context.choose<std::uint64_t>(1_GiB, 64_MiB))) {
    if (context.wants(row.id)) wanted.push_back(std::move(row));
  }
  if (wanted.empty()) return {};
  if (const std::string why = why_no_fio(); !why.empty()) {
    for (const Row& row : wanted)
      context.leave_out(row.id, why);
    return {};
  }
  auto bench = Bench::make(context, 4_MiB);
  if (!bench) return failure(bench.error());
  for (const Row& row : wanted) {
    if (auto done = compare(context, **bench, row); !done) return done;
  }
  return {};
}

}  // namespace forebay::bench::engine
