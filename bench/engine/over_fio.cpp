// SPDX-License-Identifier: Apache-2.0
// Transfers of one file by the engine and by fio, in alternating pairs: the bandwidth of a device
// changes within a minute, so only runs within a pair are compared.
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

enum class TransferProgram : std::uint8_t { kForebay, kFio, kFioSmallPages };

/// All programs of the comparison, on one file.
class FioComparison {
 public:
  static Result<std::unique_ptr<FioComparison>> make(Context& context, std::uint64_t request_bytes);

  Result<TransferCost> load_until_idle(TransferProgram program, TransferLoad load) {
    load.file_bytes = file_bytes_;
    if (program == TransferProgram::kForebay) return transfers_->run(load, path_.string());
    const FioMemory memory =
        program == TransferProgram::kFio ? FioMemory::kHugePages : FioMemory::kDefault;
    return run_fio(load, memory, path_, context_.directory());
  }

  /// The depth with the highest bandwidth, in one run of each depth.
  Result<std::uint32_t> best_depth(TransferProgram program, TransferLoad load);

  std::uint64_t file_bytes() const { return file_bytes_; }

 private:
  FioComparison(Context& context,
                std::uint64_t file_bytes,
                std::unique_ptr<EngineTransfers> transfers)
      : context_(context),
        file_bytes_(file_bytes),
        path_(context.directory() / "transfers"),
        transfers_(std::move(transfers)) {}

  Status write_file();

  Context& context_;
  std::uint64_t file_bytes_;
  std::filesystem::path path_;
  std::unique_ptr<EngineTransfers> transfers_;
};

/// Allocates and writes all blocks first: the comparison is of reading and overwriting them.
Status FioComparison::write_file() {
  auto file = storage::open_file(path_.string(), {.intent = storage::Intent::kCreate});
  if (!file) return failure(file.error());
  const std::vector<std::byte> piece(8_MiB, std::byte{7});
  for (std::uint64_t at = 0; at < file_bytes_; at += piece.size()) {
    if (auto wrote = (*file)->write_at(piece, at); !wrote) return failure(wrote.error());
  }
  if (auto synced = (*file)->sync(); !synced) return synced;
  return probe::drop_cached(path_);
}

Result<std::unique_ptr<FioComparison>> FioComparison::make(Context& context,
                                                           std::uint64_t request_bytes) {
  const std::uint64_t file_bytes = context.choose<std::uint64_t>(1_GiB, 64_MiB);
  if (auto room = context.require_space(file_bytes); !room) return failure(room.error());
  auto transfers = EngineTransfers::make(request_bytes, kDepthMax);
  if (!transfers) return failure(transfers.error());
  std::unique_ptr<FioComparison> bench(
      new FioComparison(context, file_bytes, std::move(*transfers)));
  if (auto written = bench->write_file(); !written) return failure(written.error());
  return bench;
}

Result<std::uint32_t> FioComparison::best_depth(TransferProgram program, TransferLoad load) {
  double best_seconds = 0;
  std::uint32_t best = 0;
  for (load.depth = 1; load.depth <= kDepthMax; load.depth *= 2) {
    const auto cost = load_until_idle(program, load);
    if (!cost) return failure(cost.error());
    if (best == 0 || cost->seconds < best_seconds) {
      best = load.depth;
      best_seconds = cost->seconds;
    }
  }
  return best;
}

/// One row: the compared measure of a load, and its unit.
struct Row {
  std::string id;
  TransferLoad load;
  bool best_depth = false;
  Goal goal;
  std::string unit;
  double (*measure)(const TransferCost& cost, const TransferLoad& load) = nullptr;
};

double bandwidth(const TransferCost& cost, const TransferLoad& load) {
  return static_cast<double>(load.total_bytes) / cost.seconds / kMega;
}

double requests_per_second(const TransferCost& cost, const TransferLoad& load) {
  return static_cast<double>(load.total_bytes) / static_cast<double>(load.request_bytes) /
         cost.seconds;
}

double cpu_per_byte(const TransferCost& cost, const TransferLoad& load) {
  return cost.cpu_seconds / kNano / static_cast<double>(load.total_bytes);
}

Status compare(Context& context, FioComparison& bench, const Row& row) {
  std::map<TransferProgram, TransferLoad> loads{{TransferProgram::kForebay, row.load},
                                                {TransferProgram::kFio, row.load},
                                                {TransferProgram::kFioSmallPages, row.load}};
  for (auto& [program, load] : loads) {
    if (!row.best_depth) continue;
    const auto depth = bench.best_depth(program, load);
    if (!depth) return failure(depth.error());
    load.depth = *depth;
  }
  const auto variant = [&](const std::string& name, TransferProgram program) {
    return Variant{name, {}, [&bench, &row, &loads, program]() -> Result<double> {
                     const auto cost = bench.load_until_idle(program, loads[program]);
                     if (!cost) return failure(cost.error());
                     return row.measure(*cost, row.load);
                   }};
  };
  const auto rounds = context.run(
      row.id, context.choose(kPairs, 3U),
      {variant("forebay", TransferProgram::kForebay), variant("fio", TransferProgram::kFio),
       variant("fio, small pages", TransferProgram::kFioSmallPages)});
  if (!rounds) return failure(rounds.error());
  // Kernels that count processor time in ticks of some milliseconds may count none.
  if (std::ranges::find(rounds->values("fio"), 0.0) != rounds->values("fio").end()) {
    context.skip(row.id, "fio took less processor time than the kernel's resolution");
    return {};
  }
  context.set_parameter(row.id + ".depth", {{"forebay", loads[TransferProgram::kForebay].depth},
                                            {"fio", loads[TransferProgram::kFio].depth}});
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
  const TransferLoad reading{.request_bytes = 1_MiB, .total_bytes = file_bytes};
  TransferLoad writing = reading;
  writing.direction = Direction::kWrite;
  TransferLoad random{
      .access_order = AccessOrder::kRandom, .request_bytes = 4_KiB, .depth = kDepthMax};
  random.total_bytes = file_bytes / kRandomShare;
  TransferLoad at_depth = reading;
  at_depth.depth = 8;
  TransferLoad large = at_depth;
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
    if (context.is_selected(row.id)) wanted.push_back(std::move(row));
  }
  if (wanted.empty()) return {};
  if (const std::string why = fio_unavailable_reason(); !why.empty()) {
    for (const Row& row : wanted)
      context.skip(row.id, why);
    return {};
  }
  auto bench = FioComparison::make(context, 4_MiB);
  if (!bench) return failure(bench.error());
  for (const Row& row : wanted) {
    if (auto done = compare(context, **bench, row); !done) return done;
  }
  return {};
}

}  // namespace forebay::bench::engine
