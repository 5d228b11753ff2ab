// SPDX-License-Identifier: Apache-2.0
// pfs.overlap: one rank on one core reads a file for few and for many tasks while it computes as
// long as reading alone takes. The emulated servers have the other core: those of a real storage
// are other computers. If reading took nothing from the computation but the time in which it waits,
// both together would take as long as one of them.
#include <forebay/runtime.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "bench/frame/clock.hpp"
#include "bench/frame/cores.hpp"
#include "bench/pfs/site.hpp"
#include "bench/read/computing.hpp"
#include "runner/task.hpp"

namespace forebay::bench::pfs {

namespace {

using read::Computing;
using read::Slices;

constexpr std::array<std::uint64_t, 4> kTaskCounts{32, 512, 8192, 16384};
constexpr const char* kComputing = "computing";

/// One word of each page. A look at every line of 1 GiB keeps a core busy for 3 % of the time that
/// the storage takes for it, whoever has read it: that would be measured instead.
Status look_at(const View& view) {
  constexpr std::uint64_t kPageBytes = 4096;
  for (std::uint64_t at = 0; at < view.bytes().size(); at += kPageBytes) {
    const auto word = view.bytes().subspan(at, sizeof(std::uint64_t));
    if (auto touched = touch(word, view.range().offset + at); !touched) return touched;
  }
  return {};
}

runner::Task view_task(const Session& session, ByteRange slice) {
  Views pieces = session.views(slice);
  while (!pieces.done()) {
    const Result<View> piece = co_await pieces.next();
    if (!piece) co_return failure(piece.error());
    if (auto looked = look_at(*piece); !looked) co_return looked;
  }
  co_return Status();
}

Result<double> time_computing(Runtime& runtime, Slices slices) {
  runner::TaskGroup group(runtime.loop());
  Computing computing(runtime.loop(), slices);
  const Stopwatch watch;
  group.spawn(computing.task());
  if (auto done = group.run(); !done) return failure(done.error());
  return watch.seconds();
}

/// Until all tasks have read and so much is computed on the same thread, which may be nothing.
Result<double> time_reading(Runtime& runtime, const Cut& cut, Slices beside) {
  runner::TaskGroup group(runtime.loop());
  Computing computing(runtime.loop(), beside);
  const Stopwatch watch;
  const auto file = runtime.open(cut.path.string());
  if (!file) return failure(file.error());
  const auto session = file->read_session({0, cut.file_bytes});
  if (!session) return failure(session.error());
  if (beside.count > 0) group.spawn(computing.task());
  for (std::uint64_t task = 0; task < cut.task_count; ++task)
    group.spawn(view_task(*session, cut.slice(task)));
  if (auto done = group.run(); !done) return failure(done.error());
  return watch.seconds();
}

/// As many slices as take as long as the file alone, when it is not read for the first time.
Result<Slices> equal_slices(Runtime& runtime, const Site& site) {
  constexpr Slices kSome{20000};
  constexpr int kTimes = 5;
  Result<double> reading = 0;
  for (int pass = 0; pass < 2; ++pass) {
    if (auto cold = site.cold()(); !cold) return failure(cold.error());
    reading = time_reading(runtime, site.cut(kTaskCounts.back()), {});
    if (!reading) return failure(reading.error());
  }
  std::vector<double> times;
  for (int i = 0; i < kTimes; ++i) {
    const auto computing = time_computing(runtime, kSome);
    if (!computing) return failure(computing.error());
    times.push_back(*computing);
  }
  const double slice_s = summarise(times).median / static_cast<double>(kSome.count);
  return Slices{static_cast<std::uint64_t>(std::llround(*reading / slice_s))};
}

std::string reading_name(std::uint64_t tasks) { return std::to_string(tasks) + " tasks, reading"; }
std::string both_name(std::uint64_t tasks) { return std::to_string(tasks) + " tasks, both"; }

std::vector<Variant> variants_of(Runtime& runtime, const Site& site, Slices slices) {
  const auto reading = [&](const std::string& name, std::uint64_t tasks, Slices beside) {
    return Variant{name, site.cold(), [&runtime, cut = site.cut(tasks), beside] {
                     return time_reading(runtime, cut, beside);
                   }};
  };
  std::vector<Variant> variants = {
      {kComputing, {}, [&runtime, slices] { return time_computing(runtime, slices); }}};
  for (const std::uint64_t tasks : kTaskCounts) {
    variants.push_back(reading(reading_name(tasks), tasks, {}));
    variants.push_back(reading(both_name(tasks), tasks, slices));
  }
  return variants;
}

/// The worst number of tasks of each round.
Summary over_longer(const Rounds& rounds) {
  std::vector<double> worst(rounds.values(kComputing).size());
  for (std::size_t round = 0; round < worst.size(); ++round) {
    for (const std::uint64_t tasks : kTaskCounts) {
      const double longer =
          std::max(rounds.values(reading_name(tasks))[round], rounds.values(kComputing)[round]);
      worst[round] = std::max(worst[round], rounds.values(both_name(tasks))[round] / longer);
    }
  }
  return summarise(worst);
}

}  // namespace

Status bench_overlap(Context& context) {
  const std::string id = "pfs.overlap";
  if (!context.wants(id)) return {};
  const std::vector<unsigned> cores = usable_cores();
  if (cores.size() < 2) {
    context.leave_out(id, "the rank and the emulated servers need a core each");
    return {};
  }
  const auto site =
      Site::with_words(context, {.machine = "lustre-small", .words = {}, .core = cores.back()});
  if (!site) return failure(site.error());
  const auto here = OnCore::take(cores.front());
  if (!here) return failure(here.error());
  Runtime runtime;  // its threads are on this core, too
  const auto slices = equal_slices(runtime, **site);
  if (!slices) return failure(slices.error());
  const std::vector<Variant> variants = variants_of(runtime, **site, *slices);
  const auto rounds = context.run(id, kRounds, variants);
  if (!rounds) return failure(rounds.error());
  std::vector<Peer> peers;
  for (const Variant& one : variants)
    peers.push_back({one.name, "s", rounds->summary(one.name)});
  context.add({id, "1", over_longer(*rounds), Goal{1.03}, std::move(peers)});
  return {};
}

}  // namespace forebay::bench::pfs
