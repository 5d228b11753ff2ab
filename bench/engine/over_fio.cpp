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
#include "bench/frame/word_file.hpp"
#include "tools/probe/page_cache.hpp"

namespace forebay::bench::engine {

namespace {

constexpr unsigned kPairs = 21;
constexpr std::uint32_t kDepthMax = 32;
constexpr double kMega = 1e6;
constexpr double kNano = 1e-9;

enum class TransferProgram : std::uint8_t { kForebay, kFio, kFioSmallPages };

/// All programs of the comparison, on one file.
struct FioComparison {
  Context& context;
  std::filesystem::path path;
  std::unique_ptr<EngineTransfers> transfers;

  TransferCost load_until_idle(TransferProgram program, const TransferLoad& load) const {
    if (program == TransferProgram::kForebay) return transfers->run(load, path.string()).value();
    const FioMemory memory =
        program == TransferProgram::kFio ? FioMemory::kHugePages : FioMemory::kDefault;
    return run_fio(load, memory, path, context.directory()).value();
  }

  /// The depth with the highest bandwidth, in one run of each depth.
  std::uint32_t best_depth(TransferProgram program, TransferLoad load) const {
    std::map<double, std::uint32_t> depths;  // by seconds
    for (load.depth = 1; load.depth <= kDepthMax; load.depth *= 2)
      depths.try_emplace(load_until_idle(program, load).seconds, load.depth);
    return depths.begin()->second;
  }
};

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

void compare(const FioComparison& bench, const Row& row) {
  Context& context = bench.context;
  const std::map<std::string, TransferProgram> programs{
      {"forebay", TransferProgram::kForebay},
      {"fio", TransferProgram::kFio},
      {"fio, small pages", TransferProgram::kFioSmallPages}};
  std::vector<Variant> variants;
  std::map<std::string, std::uint32_t> depths;
  for (const char* const name : {"forebay", "fio", "fio, small pages"}) {
    const TransferProgram program = programs.at(name);
    TransferLoad load = row.load;
    if (row.best_depth) load.depth = bench.best_depth(program, load);
    depths[name] = load.depth;
    variants.push_back({name, {}, [&bench, &row, program, load] {
                          return row.measure(bench.load_until_idle(program, load), load);
                        }});
  }
  const Rounds rounds = context.run(row.id, context.choose(kPairs, 3U), variants).value();
  // Kernels that count processor time in ticks of some milliseconds may count none.
  if (std::ranges::count(rounds.values("fio"), 0.0) > 0) {
    context.skip(row.id, "fio took less processor time than the kernel's resolution");
    return;
  }
  context.set_parameter(row.id + ".depth",
                        {{"forebay", depths["forebay"]}, {"fio", depths["fio"]}});
  ResultRow result{row.id, "1", rounds.ratio("forebay", "fio"), row.goal, {}};
  for (const Variant& variant : variants)
    result.peers.push_back({variant.name, row.unit, rounds.summary(variant.name)});
  context.add(std::move(result));
}

std::vector<Row> rows(std::uint64_t file_bytes) {
  constexpr std::uint64_t kRandomShare = 4;  // of the file's bytes, in 4 KiB requests
  const TransferLoad reading{
      .request_bytes = 1_MiB, .total_bytes = file_bytes, .file_bytes = file_bytes};
  TransferLoad writing = reading;
  writing.direction = Direction::kWrite;
  const TransferLoad random{.access_order = AccessOrder::kRandom,
                            .request_bytes = 4_KiB,
                            .depth = kDepthMax,
                            .total_bytes = file_bytes / kRandomShare,
                            .file_bytes = file_bytes};
  TransferLoad at_depth = reading;
  at_depth.depth = 8;
  TransferLoad large = at_depth;
  large.request_bytes = 4_MiB;
  constexpr Goal kBandwidth{0.93, Better::kHigher};
  constexpr Goal kRequests{0.9, Better::kHigher};
  return {
      {"engine.seq_read.over_fio", reading, true, kBandwidth, "MB/s", bandwidth},
      {"engine.seq_write.over_fio", writing, true, kBandwidth, "MB/s", bandwidth},
      {"engine.rand_read.over_fio", random, false, kRequests, "1/s", requests_per_second},
      {"engine.cpu.over_fio", at_depth, false, {1.3}, "ns/B", cpu_per_byte},
      {"engine.cpu.over_fio.4m", large, false, {1.1}, "ns/B", cpu_per_byte},
  };
}

}  // namespace

/// Allocates and writes all blocks first: the comparison is of reading and overwriting them.
Status bench_over_fio(Context& context) {
  const auto file_bytes = context.choose<std::uint64_t>(1_GiB, 64_MiB);
  const FioComparison bench{context, context.directory() / "transfers",
                            EngineTransfers::make(4_MiB, kDepthMax).value()};
  check(write_word_file(bench.path, file_bytes));
  check(probe::drop_cached(bench.path));
  for (const Row& row : rows(file_bytes)) {
    if (context.is_selected(row.id)) compare(bench, row);
  }
  return {};
}

}  // namespace forebay::bench::engine
