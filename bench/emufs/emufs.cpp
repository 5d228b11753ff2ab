// SPDX-License-Identifier: Apache-2.0
// emufs beside the machine it stands for: answer times of many loads on a mount, against those of
// the storage model for the same requests; and what it gives when nothing has a cost.
#include <algorithm>
#include <cmath>
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

/// One machine, and the loads that are put on it.
struct Grid {
  std::string machine;
  std::vector<LoadSpec> loads;
};

LoadSpec load(LoadKind kind, std::uint32_t clients, std::uint64_t bytes, std::uint32_t files) {
  const char* const verb = kind == LoadKind::kRead    ? "read"
                           : kind == LoadKind::kWrite ? "write"
                                                      : "create";
  return {.name = std::string(verb) + "-" + std::to_string(bytes >> 10U) + "k-" +
                  std::to_string(clients) + "-on-" + std::to_string(files),
          .kind = kind,
          .clients = clients,
          .request_bytes = bytes,
          .files = files,
          .requests_each = std::max(8U, 256U / clients)};
}

/// 1 to 64 clients, small and large requests, one file and many, reading, writing, names.
std::vector<Grid> grids(bool quick) {
  const std::vector<std::uint32_t> clients =
      quick ? std::vector<std::uint32_t>{1, 8} : std::vector<std::uint32_t>{1, 4, 16, 64};
  std::vector<Grid> grids = {{"nfs", {}}, {"lustre-small", {}}};
  for (Grid& grid : grids) {
    for (const std::uint32_t count : clients) {
      grid.loads.push_back(load(LoadKind::kRead, count, 4_KiB, 1));
      grid.loads.push_back(load(LoadKind::kRead, count, 1_MiB, 1));
      grid.loads.push_back(load(LoadKind::kRead, count, 64_KiB, std::min(count, 16U)));
      grid.loads.push_back(load(LoadKind::kWrite, count, 64_KiB, 1));
      grid.loads.push_back(load(LoadKind::kCreate, count, 0, 1));
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
  double of_median = 0;     ///< a share of the model's
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
    const auto times = put_on_mount(load, mounted.path());
    if (!times) return tl::unexpected<Error>(times.error());
    medians.push_back(at_share(*times, 0.5));
    p95s.push_back(at_share(*times, 0.95));
  }
  return Deviation{.name = grid.machine + " " + load.name,
                   .of_median = std::abs(summarise(medians).median / median - 1),
                   .of_p95_ms = (summarise(p95s).median - p95) * kMilliseconds,
                   .model_median = median};
}

Summary worst_of(const std::vector<Deviation>& deviations, double Deviation::* what) {
  std::vector<double> values;
  for (const Deviation& one : deviations)
    values.push_back(one.*what);
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return {.median = *most, .low = *least, .high = *most, .runs = values.size()};
}

/// The points that are furthest off, to look into.
std::vector<Peer> furthest(std::vector<Deviation> deviations) {
  constexpr std::size_t kShown = 5;
  std::sort(deviations.begin(), deviations.end(),
            [](const auto& a, const auto& b) { return a.of_median > b.of_median; });
  std::vector<Peer> peers;
  for (std::size_t i = 0; i < std::min(kShown, deviations.size()); ++i)
    peers.push_back({deviations[i].name, "1", summarise({deviations[i].of_median})});
  return peers;
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
    if (!machine) return tl::unexpected<Error>(machine.error());
    auto mounted = Mounted::make(context.folder(), {.machine = grid.machine, .words = {}});
    if (!mounted) return tl::unexpected<Error>(mounted.error());
    for (const LoadSpec& load : grid.loads) {
      context.report({deviations.size(), total, "loads", grid.machine + " " + load.name});
      auto found = deviation(grid, load, **mounted, *machine);
      if (!found) return tl::unexpected<Error>(found.error());
      deviations.push_back(std::move(*found));
    }
  }
  if (wants_median) {
    context.add({.id = "emufs.model_error",
                 .unit = "1",
                 .measured = worst_of(deviations, &Deviation::of_median),
                 .goal = Goal{0.03},
                 .peers = furthest(deviations)});
  }
  if (wants_p95) {
    context.add({.id = "emufs.p95_above_ms",
                 .unit = "ms",
                 .measured = worst_of(deviations, &Deviation::of_p95_ms),
                 .goal = Goal{0.1},
                 .peers = {}});
  }
  return {};
}

/// Seconds to read a file from begin to end in requests of 1 MiB.
Result<double> time_reading(const std::filesystem::path& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) {
    return tl::unexpected<Error>(system_error({.operation = "open", .path = path.string()}, errno));
  }
  std::vector<std::byte> buffer(1_MiB);
  const Stopwatch watch;
  while (true) {
    const ssize_t got = ::read(file.get(), buffer.data(), buffer.size());
    if (got == 0) return watch.seconds();
    if (got < 0) {
      return tl::unexpected<Error>(
          system_error({.operation = "read", .path = path.string()}, errno));
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
    return tl::unexpected<Error>(
        system_error({.operation = "write", .path = path.string(), .offset_bytes = at}, errno));
  }
  if (!file || ::fdatasync(file.get()) != 0) {
    return tl::unexpected<Error>(
        system_error({.operation = "write", .path = path.string()}, errno));
  }
  return watch.seconds();
}

Status bench_bare(Context& context) {
  const std::string id = "emufs.bare";
  if (!context.wants(id)) return {};
  auto mounted = Mounted::make(context.folder(), {.machine = "local", .words = {"--no-delay"}});
  if (!mounted) return tl::unexpected<Error>(mounted.error());
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
  if (!rounds) return tl::unexpected<Error>(rounds.error());
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
