// SPDX-License-Identifier: Apache-2.0
// pfs.overlap: one rank on one core reads a file for few and for many tasks, and computes for as
// long as reading alone takes. The emulated servers have the other core, because those of a real
// storage are other computers. With perfect overlap, both together take as long as one of them.
#include <forebay/runtime.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "bench/frame/clock.hpp"
#include "bench/frame/cpu_affinity.hpp"
#include "bench/pfs/mounted_file.hpp"
#include "bench/read/background_computation.hpp"
#include "runner/task.hpp"

namespace forebay::bench::pfs {

namespace {

using read::BackgroundComputation;
using read::ComputeSlices;

constexpr std::array<std::uint64_t, 4> kTaskCounts{32, 512, 8192, 16384};
constexpr const char* kComputing = "computing";

/// Verifies one word of each page. Touching every line of 1 GiB would keep a core busy for 3 % of
/// the storage's time, with any method. That would be part of the result.
Status verify_pages(const View& view) {
  constexpr std::uint64_t kPageBytes = 4096;
  for (std::uint64_t at = 0; at < view.bytes().size(); at += kPageBytes) {
    const auto word = view.bytes().subspan(at, sizeof(std::uint64_t));
    if (auto touched = verify_words(word, view.range().offset + at); !touched) return touched;
  }
  return {};
}

runner::Task view_task(const Session& session, ByteRange slice) {
  ViewSequence pieces = session.views(slice);
  while (!pieces.is_done()) {
    const Result<View> piece = co_await pieces.next();
    if (!piece) co_return failure(piece.error());
    if (auto verified = verify_pages(*piece); !verified) co_return verified;
  }
  co_return Status();
}

Result<double> time_computing(Runtime& runtime, ComputeSlices slices) {
  runner::TaskGroup group(runtime.event_loop());
  BackgroundComputation computing(runtime.event_loop(), slices);
  const Stopwatch watch;
  group.spawn(computing.task());
  if (auto done = group.run(); !done) return failure(done.error());
  return watch.seconds();
}

/// Seconds until all tasks have read and `background` is computed on the same thread; it may be
/// empty.
Result<double> time_reading(Runtime& runtime,
                            const FilePartition& partition,
                            ComputeSlices background) {
  runner::TaskGroup group(runtime.event_loop());
  BackgroundComputation computing(runtime.event_loop(), background);
  const Stopwatch watch;
  const auto file = runtime.open_file(partition.path.string());
  if (!file) return failure(file.error());
  const auto session = file->read_session({0, partition.file_bytes});
  if (!session) return failure(session.error());
  if (background.count > 0) group.spawn(computing.task());
  for (std::uint64_t task = 0; task < partition.task_count; ++task)
    group.spawn(view_task(*session, partition.slice(task)));
  if (auto done = group.run(); !done) return failure(done.error());
  return watch.seconds();
}

/// The number of slices that take as long as reading the file alone; the second read counts.
ComputeSlices calibrate_slices(Runtime& runtime, const MountedFile& mounted_file) {
  constexpr ComputeSlices kSome{20000};
  constexpr int kTimes = 5;
  double reading_s = 0;
  for (int pass = 0; pass < 2; ++pass) {
    check(mounted_file.drop_cache()());
    reading_s = time_reading(runtime, mounted_file.partition(kTaskCounts.back()), {}).value();
  }
  std::vector<double> times;
  for (int i = 0; i < kTimes; ++i)
    times.push_back(time_computing(runtime, kSome).value());
  const double slice_s = summarize(times).median / static_cast<double>(kSome.count);
  return ComputeSlices{static_cast<std::uint64_t>(std::llround(reading_s / slice_s))};
}

std::string reading_name(std::uint64_t tasks) { return std::to_string(tasks) + " tasks, reading"; }
std::string both_name(std::uint64_t tasks) { return std::to_string(tasks) + " tasks, both"; }

std::vector<Variant> variants_of(Runtime& runtime,
                                 const MountedFile& mounted_file,
                                 ComputeSlices slices) {
  const auto reading = [&](const std::string& name, std::uint64_t tasks, ComputeSlices background) {
    return Variant{name, mounted_file.drop_cache(),
                   [&runtime, partition = mounted_file.partition(tasks), background] {
                     return time_reading(runtime, partition, background);
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
  return summarize(worst);
}

}  // namespace

std::string overlap_unavailable_reason() {
  if (usable_cores().size() >= 2) return "";
  return "two cores are required, for the rank and the emulated servers";
}

Status bench_overlap(Context& context) {
  const std::vector<unsigned> cores = usable_cores();
  const auto mounted_file = MountedFile::with_word_file(
      context, {.machine = "lustre-small", .arguments = {}, .core = cores.back()});
  const auto affinity = ScopedAffinity::pin(cores.front()).value();
  Runtime runtime;  // its threads are on this core, too
  const ComputeSlices slices = calibrate_slices(runtime, *mounted_file);
  return context.compare({.rows = {{"pfs.overlap", over_longer, Goal{1.03}}},
                          .variants = variants_of(runtime, *mounted_file, slices)});
}

}  // namespace forebay::bench::pfs
