// SPDX-License-Identifier: Apache-2.0
// emufs compared with its machine: response times of many loads on a mount, against those of the
// storage model for the same requests; and the overhead of a mount without costs.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "base/descriptor.hpp"
#include "bench/emufs/emufs_mount.hpp"
#include "bench/emufs/loads.hpp"
#include "bench/frame/benchmark.hpp"
#include "bench/frame/clock.hpp"
#include "tools/probe/page_cache.hpp"

namespace forebay::bench::emufs {

namespace {

constexpr unsigned kRounds = 5;
constexpr double kMilliseconds = 1e3;

/// One machine, how many of its nodes are mounted, and the loads on them.
struct Grid {
  std::string machine;
  std::uint32_t nodes = 1;
  std::vector<LoadSpec> loads;
};

const std::map<LoadKind, std::string> kKindNames = {{LoadKind::kRead, "read"},
                                                    {LoadKind::kWrite, "write"},
                                                    {LoadKind::kCreate, "create"},
                                                    {LoadKind::kStat, "stat"},
                                                    {LoadKind::kUnlink, "unlink"}};

/// Sets the name, which includes all parameters, and a number of requests that gives a stable
/// median.
LoadSpec with_name(LoadSpec load) {
  load.name = kKindNames.at(load.kind);
  if (is_data_request(load.kind)) load.name += "-" + std::to_string(load.request_bytes) + "b";
  if (load.pattern == AccessPattern::kBlocks) load.name += "-blocks";
  load.name += "-" + std::to_string(load.clients);
  if (load.nodes > 1) load.name += "-of-" + std::to_string(load.nodes) + "-nodes";
  if (load.files > 1) load.name += "-on-" + std::to_string(load.files);
  // A client that is some microseconds late meets others in another order. The median of few
  // requests then moves by 3 %, on the model as well as on a mount.
  const bool small = is_data_request(load.kind) && load.request_bytes < 1_MiB;
  load.requests_per_client = small ? 64U : std::clamp(256U / load.clients, 8U, 64U);
  return load;
}

/// Loads of one node: small and large requests, one file and many, reads, writes, names.
std::vector<LoadSpec> loads_of_one_node(std::uint32_t clients) {
  const std::uint32_t files = std::min(clients, 16U);
  std::vector<LoadSpec> loads;
  for (const LoadKind kind : {LoadKind::kRead, LoadKind::kWrite}) {
    loads.push_back(with_name({.kind = kind, .clients = clients, .request_bytes = 4_KiB}));
    loads.push_back(with_name({.kind = kind, .clients = clients, .request_bytes = 1_MiB}));
    loads.push_back(
        with_name({.kind = kind, .clients = clients, .request_bytes = 64_KiB, .files = files}));
  }
  for (const LoadKind kind : {LoadKind::kCreate, LoadKind::kStat, LoadKind::kUnlink})
    loads.push_back(with_name({.kind = kind, .clients = clients}));
  return loads;
}

/// Loads of several nodes on one file. First, blocks that fill units of locks, so that each node
/// keeps its locks. Second, blocks as programs have them, which share a unit with others, or touch
/// two.
std::vector<LoadSpec> loads_of_nodes(std::uint32_t nodes, std::uint32_t clients) {
  constexpr std::uint64_t kUneven = 47'008;
  const LoadSpec writing{.kind = LoadKind::kWrite,
                         .pattern = AccessPattern::kBlocks,
                         .clients = clients,
                         .nodes = nodes,
                         .request_bytes = 1_MiB};
  LoadSpec uneven = writing;
  uneven.request_bytes = kUneven;
  return {with_name(writing), with_name(uneven)};
}

/// Several nodes that read one file and create names. Not for gpfs-small: only emufs decides which
/// of several metadata servers has a name, and 64 readers there, 1.9 GB/s in small pieces, exceed
/// two cores.
std::vector<LoadSpec> other_loads_of_nodes(std::uint32_t nodes, std::uint32_t clients) {
  return {with_name({.clients = clients, .nodes = nodes, .request_bytes = 64_KiB}),
          with_name({.kind = LoadKind::kCreate, .clients = clients, .nodes = nodes})};
}

void add(Grid& grid, const std::vector<LoadSpec>& loads) {
  grid.loads.insert(grid.loads.end(), loads.begin(), loads.end());
}

std::vector<Grid> grids(bool quick) {
  const std::vector<std::uint32_t> clients =
      quick ? std::vector<std::uint32_t>{1, 8} : std::vector<std::uint32_t>{1, 4, 16, 64};
  constexpr std::uint32_t kNodes = 4;
  std::vector<Grid> grids;
  for (const char* const machine : {"nfs", "lustre-small"}) {
    grids.push_back({.machine = machine});
    for (const std::uint32_t count : clients)
      add(grids.back(), loads_of_one_node(count));
  }
  for (const std::string machine : {"nfs", "lustre-small", "gpfs-small"}) {
    grids.push_back({.machine = machine, .nodes = kNodes});
    for (const std::uint32_t count : clients) {
      if (count < kNodes) continue;
      add(grids.back(), loads_of_nodes(kNodes, count));
      if (machine != "gpfs-small") add(grids.back(), other_loads_of_nodes(kNodes, count));
    }
  }
  return grids;
}

double time_quantile(ResponseTimes times, double share) {
  std::sort(times.begin(), times.end());
  return quantile(times, share);
}

/// How a load on the mount deviates from the model: median over several rounds.
struct Deviation {
  std::string name;
  double median_error = 0;   ///< relative to the model's; below 0: too early
  double p95_excess_ms = 0;  ///< above the model's; may be negative
  double model_median = 0;   ///< seconds
};

Deviation deviation(const Grid& grid,
                    const LoadSpec& load,
                    const EmufsMount& mounted,
                    const model::Machine& machine) {
  const ResponseTimes expected = run_on_model(load, machine);
  const double median = time_quantile(expected, 0.5);
  const double p95 = time_quantile(expected, 0.95);
  std::vector<double> medians;
  std::vector<double> p95s;
  for (unsigned round = 0; round < kRounds; ++round) {
    const ResponseTimes times = run_on_mounts(load, machine, mounted.mount_points());
    medians.push_back(time_quantile(times, 0.5));
    p95s.push_back(time_quantile(times, 0.95));
  }
  return {.name = grid.machine + " " + load.name,
          .median_error = summarize(medians).median / median - 1,
          .p95_excess_ms = (summarize(p95s).median - p95) * kMilliseconds,
          .model_median = median};
}

/// The result is the worst deviation; the largest ones are listed as peers.
void add_row(Context& context,
             ResultRow row,
             std::vector<Deviation> deviations,
             double (*measure)(const Deviation&)) {
  constexpr std::size_t kShown = 5;
  if (!context.is_selected(row.id)) return;
  std::ranges::sort(deviations, std::greater<>{}, measure);
  const double worst = measure(deviations.front());
  row.measured = {
      .median = worst, .low = measure(deviations.back()), .high = worst, .runs = deviations.size()};
  deviations.resize(std::min(kShown, deviations.size()));
  for (const Deviation& one : deviations)
    row.peers.push_back({one.name, row.unit, summarize({measure(one)})});
  context.add(std::move(row));
}

/// All points, to locate a deviation.
nlohmann::json table_of(const std::vector<Deviation>& deviations) {
  nlohmann::json table = nlohmann::json::object();
  for (const Deviation& one : deviations) {
    table[one.name] = {{"model_ms", one.model_median * kMilliseconds},
                       {"error", one.median_error},
                       {"p95_above_ms", one.p95_excess_ms}};
  }
  return table;
}

Status bench_model_error(Context& context) {
  std::vector<Deviation> deviations;
  const std::vector<Grid> all = grids(context.quick());
  const std::size_t total =
      std::accumulate(all.begin(), all.end(), std::size_t{0},
                      [](std::size_t sum, const Grid& grid) { return sum + grid.loads.size(); });
  for (const Grid& grid : all) {
    const model::Machine machine = machine_named(grid.machine);
    const auto mounted =
        EmufsMount::make(context.directory(), {.machine = grid.machine,
                                               .clients = grid.nodes,
                                               .arguments = {"--no-sync", "--punctual"}})
            .value();
    for (const LoadSpec& load : grid.loads) {
      context.report({deviations.size(), total, "loads", grid.machine + " " + load.name});
      deviations.push_back(deviation(grid, load, *mounted, machine));
    }
  }
  context.set_parameter("emufs.points", table_of(deviations));
  add_row(context, {.id = "emufs.model_error", .unit = "1", .goal = Goal{0.03}}, deviations,
          [](const Deviation& one) { return std::abs(one.median_error); });
  add_row(context, {.id = "emufs.p95_above_ms", .unit = "ms", .goal = Goal{0.1}}, deviations,
          [](const Deviation& one) { return one.p95_excess_ms; });
  return {};
}

/// Seconds to read a file in order in requests of 1 MiB.
Result<double> time_reading(const std::filesystem::path& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) {
    return failure(system_error({.operation = "open", .path = path.string()}, errno));
  }
  std::vector<std::byte> buffer(1_MiB);
  const Stopwatch watch;
  while (true) {
    const ssize_t got = ::read(file.get(), buffer.data(), buffer.size());
    if (got == 0) return watch.seconds();
    if (got < 0) {
      return failure(system_error({.operation = "read", .path = path.string()}, errno));
    }
  }
}

/// Seconds to write a file in requests of 1 MiB, until it is on the disk.
Result<double> time_writing(const std::filesystem::path& path, std::uint64_t bytes) {
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
  const Descriptor file(::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  const std::vector<std::byte> buffer(1_MiB, std::byte{1});
  const Stopwatch watch;
  for (std::uint64_t at = 0; file && at < bytes; at += buffer.size()) {
    if (::write(file.get(), buffer.data(), buffer.size()) == static_cast<ssize_t>(buffer.size()))
      continue;
    return failure(
        system_error({.operation = "write", .path = path.string(), .offset_bytes = at}, errno));
  }
  if (!file || ::fdatasync(file.get()) != 0) {
    return failure(system_error({.operation = "write", .path = path.string()}, errno));
  }
  return watch.seconds();
}

Status bench_overhead(Context& context) {
  const auto mounted =
      EmufsMount::make(context.directory(), {.machine = "local", .arguments = {"--no-delay"}})
          .value();
  const std::uint64_t bytes = context.choose<std::uint64_t>(1_GiB, 64_MiB);
  const std::filesystem::path native_path = context.directory() / "beside";
  const std::filesystem::path mounted_path = mounted->path() / "there";
  const auto drop_native = [&] { return probe::drop_cached(native_path); };
  const auto drop_both = [&] {
    check(probe::drop_cached(mounted->backing() / "there"));
    return probe::drop_cached(mounted_path);
  };
  const Rounds rounds =
      context
          .run("emufs.bare", kRounds,
               {{"native, writing", {}, [&] { return time_writing(native_path, bytes); }},
                {"emufs, writing", {}, [&] { return time_writing(mounted_path, bytes); }},
                {"native, reading", drop_native, [&] { return time_reading(native_path); }},
                {"emufs, reading", drop_both, [&] { return time_reading(mounted_path); }}})
          .value();
  const Summary reading = rounds.ratio("native, reading", "emufs, reading");
  const Summary writing = rounds.ratio("native, writing", "emufs, writing");
  context.add({"emufs.bare",
               "1",
               worst_of({reading, writing}, Better::kHigher),
               Goal{0.5, Better::kHigher},
               {{"reading", "1", reading}, {"writing", "1", writing}}});
  return {};
}

}  // namespace

FOREBAY_BENCHMARK(emufs, "emulated storage compared with the model of its machine") {
  return run_each(
      context,
      {{{"emufs.model_error", "emufs.p95_above_ms"}, bench_model_error, mount_unavailable_reason},
       {{"emufs.bare"}, bench_overhead, mount_unavailable_reason}});
}

}  // namespace forebay::bench::emufs
