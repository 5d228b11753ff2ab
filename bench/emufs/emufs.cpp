// SPDX-License-Identifier: Apache-2.0
// emufs beside the machine it stands for: answer times of many loads on a mount, against those of
// the storage model for the same requests; and what it gives when nothing has a cost.
#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <numeric>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "base/descriptor.hpp"
#include "bench/emufs/loads.hpp"
#include "bench/emufs/mounted.hpp"
#include "bench/frame/benchmark.hpp"
#include "bench/frame/clock.hpp"
#include "tools/probe/page_cache.hpp"

namespace forebay::bench::emufs {

namespace {

constexpr unsigned kRounds = 5;
constexpr double kMilliseconds = 1e3;

/// One machine, how many of its nodes are mounted, and the loads that are put on them.
struct Grid {
  std::string machine;
  std::uint32_t nodes = 1;
  std::vector<LoadSpec> loads;
};

const char* verb_of(LoadKind kind) {
  switch (kind) {
    case LoadKind::kRead:
      return "read";
    case LoadKind::kWrite:
      return "write";
    case LoadKind::kCreate:
      return "create";
    case LoadKind::kStat:
      return "stat";
    case LoadKind::kUnlink:
      break;
  }
  return "unlink";
}

/// With a name that says all of it, and as many requests as give a median.
LoadSpec named(LoadSpec load) {
  load.name = verb_of(load.kind);
  if (!is_on_names(load.kind)) load.name += "-" + std::to_string(load.request_bytes) + "b";
  if (load.pattern == Pattern::kBlocks) load.name += "-blocks";
  load.name += "-" + std::to_string(load.clients);
  if (load.nodes > 1) load.name += "-of-" + std::to_string(load.nodes) + "-nodes";
  if (load.files > 1) load.name += "-on-" + std::to_string(load.files);
  // Where a client is some microseconds late it meets others in another order, and the median of
  // few requests moves by 3 %: on the model as much as on a mount.
  const bool small = !is_on_names(load.kind) && load.request_bytes < 1_MiB;
  load.requests_each = small ? 64U : std::clamp(256U / load.clients, 8U, 64U);
  return load;
}

/// Of one node: small requests and large ones, one file and many, reading, writing, names.
std::vector<LoadSpec> loads_of_one_node(std::uint32_t clients) {
  const std::uint32_t files = std::min(clients, 16U);
  std::vector<LoadSpec> loads;
  for (const LoadKind kind : {LoadKind::kRead, LoadKind::kWrite}) {
    loads.push_back(named({.kind = kind, .clients = clients, .request_bytes = 4_KiB}));
    loads.push_back(named({.kind = kind, .clients = clients, .request_bytes = 1_MiB}));
    loads.push_back(
        named({.kind = kind, .clients = clients, .request_bytes = 64_KiB, .files = files}));
  }
  for (const LoadKind kind : {LoadKind::kCreate, LoadKind::kStat, LoadKind::kUnlink})
    loads.push_back(named({.kind = kind, .clients = clients}));
  return loads;
}

/// Of several nodes and one file: blocks that fill units of locks, so that each node keeps its own;
/// blocks as programs have them, which lie on a unit with others, or on two.
std::vector<LoadSpec> loads_of_nodes(std::uint32_t nodes, std::uint32_t clients) {
  constexpr std::uint64_t kUneven = 47'008;
  const LoadSpec writing{.kind = LoadKind::kWrite,
                         .pattern = Pattern::kBlocks,
                         .clients = clients,
                         .nodes = nodes,
                         .request_bytes = 1_MiB};
  LoadSpec uneven = writing;
  uneven.request_bytes = kUneven;
  return {named(writing), named(uneven)};
}

/// Several nodes that read one file and make names. Not for gpfs-small: which of several metadata
/// servers has a name is emufs' to know, and what 64 read there, 1.9 GB/s in small pieces, is more
/// than two cores pass on.
std::vector<LoadSpec> other_loads_of_nodes(std::uint32_t nodes, std::uint32_t clients) {
  return {named({.clients = clients, .nodes = nodes, .request_bytes = 64_KiB}),
          named({.kind = LoadKind::kCreate, .clients = clients, .nodes = nodes})};
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

double at_share(AnswerTimes times, double share) {
  std::sort(times.begin(), times.end());
  return quantile(times, share);
}

/// How a load on the mount differs from the same on the model, in the middle of several rounds.
struct Deviation {
  std::string name;
  double of_median = 0;     ///< a share of the model's; below 0: too early
  double of_p95_ms = 0;     ///< above the model's; may be negative
  double model_median = 0;  ///< seconds
};

Result<Deviation> deviation(const Grid& grid,
                            const LoadSpec& load,
                            const Mounted& mounted,
                            const model::Machine& machine) {
  const AnswerTimes expected = put_on_model(load, machine);
  const double median = at_share(expected, 0.5);
  const double p95 = at_share(expected, 0.95);
  std::vector<double> medians;
  std::vector<double> p95s;
  for (unsigned round = 0; round < kRounds; ++round) {
    const auto times = put_on_mounts(load, machine, mounted.clients());
    if (!times) return failure(times.error());
    medians.push_back(at_share(*times, 0.5));
    p95s.push_back(at_share(*times, 0.95));
  }
  return Deviation{.name = grid.machine + " " + load.name,
                   .of_median = summarise(medians).median / median - 1,
                   .of_p95_ms = (summarise(p95s).median - p95) * kMilliseconds,
                   .model_median = median};
}

using Measure = double (*)(const Deviation&);

double error_of(const Deviation& one) { return std::abs(one.of_median); }
double late_p95_of(const Deviation& one) { return one.of_p95_ms; }

/// The worst of all is what counts; the points that are furthest off are peers, to look into.
ResultRow row_of(const std::string& id, std::vector<Deviation> deviations, Measure measure) {
  constexpr std::size_t kShown = 5;
  std::ranges::sort(deviations, std::greater<>{}, measure);
  const double worst = measure(deviations.front());
  ResultRow row{.id = id,
                .measured = {.median = worst,
                             .low = measure(deviations.back()),
                             .high = worst,
                             .runs = deviations.size()}};
  for (std::size_t i = 0; i < std::min(kShown, deviations.size()); ++i)
    row.peers.push_back({deviations[i].name, "", summarise({measure(deviations[i])})});
  return row;
}

void add_row(Context& context, ResultRow row, const std::string& unit, double goal) {
  row.unit = unit;
  row.goal = Goal{goal};
  for (Peer& peer : row.peers)
    peer.unit = unit;
  context.add(std::move(row));
}

/// Every point, for who wants to know where a deviation is.
nlohmann::json table_of(const std::vector<Deviation>& deviations) {
  nlohmann::json table = nlohmann::json::object();
  for (const Deviation& one : deviations) {
    table[one.name] = {{"model_ms", one.model_median * kMilliseconds},
                       {"error", one.of_median},
                       {"p95_above_ms", one.of_p95_ms}};
  }
  return table;
}

Status bench_model_error(Context& context) {
  const bool wants_median = context.wants("emufs.model_error");
  const bool wants_p95 = context.wants("emufs.p95_above_ms");
  if (!wants_median && !wants_p95) return {};
  std::vector<Deviation> deviations;
  const std::vector<Grid> all = grids(context.quick());
  const std::size_t total =
      std::accumulate(all.begin(), all.end(), std::size_t{0},
                      [](std::size_t sum, const Grid& grid) { return sum + grid.loads.size(); });
  for (const Grid& grid : all) {
    const auto machine =
        model::load_machine(grid.machine, model::machine_folders(process_environment()));
    if (!machine) return failure(machine.error());
    auto mounted = Mounted::make(
        context.folder(),
        {.machine = grid.machine, .clients = grid.nodes, .words = {"--no-sync", "--punctual"}});
    if (!mounted) return failure(mounted.error());
    for (const LoadSpec& load : grid.loads) {
      context.report({deviations.size(), total, "loads", grid.machine + " " + load.name});
      auto found = deviation(grid, load, **mounted, *machine);
      if (!found) return failure(found.error());
      deviations.push_back(std::move(*found));
    }
  }
  context.set_parameter("emufs.points", table_of(deviations));
  if (wants_median) {
    add_row(context, row_of("emufs.model_error", deviations, error_of), "1", 0.03);
  }
  if (wants_p95) {
    add_row(context, row_of("emufs.p95_above_ms", deviations, late_p95_of), "ms", 0.1);
  }
  return {};
}

/// Seconds to read a file from begin to end in requests of 1 MiB.
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

Status bench_bare(Context& context) {
  const std::string id = "emufs.bare";
  if (!context.wants(id)) return {};
  auto mounted = Mounted::make(context.folder(), {.machine = "local", .words = {"--no-delay"}});
  if (!mounted) return failure(mounted.error());
  const std::uint64_t bytes = context.choose<std::uint64_t>(1_GiB, 64_MiB);
  const std::filesystem::path beside = context.folder() / "beside";
  const std::filesystem::path there = (*mounted)->path() / "there";
  const auto forget = [&](const std::filesystem::path& path) {
    return [path] { return probe::drop_cached(path); };
  };
  const auto rounds =
      context.run(id, kRounds,
                  {{"beside, writing", {}, [&] { return time_writing(beside, bytes); }},
                   {"emufs, writing", {}, [&] { return time_writing(there, bytes); }},
                   {"beside, reading", forget(beside), [&] { return time_reading(beside); }},
                   {"emufs, reading",
                    [&]() -> Status {
                      if (auto kept = probe::drop_cached((*mounted)->backing() / "there"); !kept)
                        return kept;
                      return probe::drop_cached(there);
                    },
                    [&] { return time_reading(there); }}});
  if (!rounds) return failure(rounds.error());
  const Summary reading = rounds->ratio("beside, reading", "emufs, reading");
  const Summary writing = rounds->ratio("beside, writing", "emufs, writing");
  context.add({.id = id,
               .unit = "1",
               .measured = reading.median < writing.median ? reading : writing,
               .goal = Goal{0.5, Better::kHigher},
               .peers = {{"reading", "1", reading}, {"writing", "1", writing}}});
  return {};
}

}  // namespace

FOREBAY_BENCHMARK(emufs, "an emulated storage beside the machine it stands for") {
  if (const std::string why = why_no_mounts(); !why.empty()) {
    for (const char* const id : {"emufs.model_error", "emufs.p95_above_ms", "emufs.bare"}) {
      if (context.wants(id)) context.leave_out(id, why);
    }
    return {};
  }
  if (auto done = bench_model_error(context); !done) return done;
  return bench_bare(context);
}

}  // namespace forebay::bench::emufs
