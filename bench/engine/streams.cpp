// SPDX-License-Identifier: Apache-2.0
// Costs of a stream besides the bytes: memory, and the time of a submission; and the gain of a
// second device.
#include <forebay/output_stream.hpp>
#include <forebay/runtime.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "bench/engine/engine.hpp"
#include "bench/engine/gain.hpp"
#include "bench/frame/clock.hpp"
#include "bench/frame/cpu_affinity.hpp"
#include "bench/frame/peak_memory.hpp"
#include "bench/frame/statistics.hpp"

namespace forebay::bench::engine {

namespace {

constexpr double kMicroseconds = 1e6;

/// A stream with one file of the directory, which exists and has allocated blocks.
struct FileStream {
  OutputStream stream;
  OutputFile file;
};

FileStream open_stream(Runtime& runtime, const std::string& path) {
  auto stream =
      runtime
          .create_output_stream({.access = Access::kDirect, .buffer_bytes = 16_MiB, .buffers = 4})
          .value();
  auto file = stream.create(path, {.existing_content = ExistingContent::kKeep}).value();
  return {std::move(stream), std::move(file)};
}

/// Writes `bytes` of the present content of the buffers, from the file's start, repeatedly.
void overwrite(FileStream& one, std::uint64_t bytes, std::uint64_t file_bytes) {
  const std::uint64_t step = one.stream.plan().buffer_bytes;
  for (std::uint64_t at = 0; at < bytes; at += step)
    check(one.stream.submit(one.stream.acquire().value(), one.file, at % file_bytes));
  check(one.stream.drain());
}

/// Seconds for try_acquire() and submit() of one buffer.
Result<double> time_submission(FileStream& one, std::uint64_t at) {
  const Stopwatch watch;
  auto acquired = one.stream.try_acquire();
  auto& buffer = acquired.value();
  if (!buffer) return failure({.operation = "acquire a buffer", .cause = "no buffer is free"});
  check(one.stream.submit(std::move(*buffer), one.file, at));
  return watch.seconds();
}

}  // namespace

Status bench_memory(Context& context) {
  constexpr double kMebi = 1 << 20U;
  const std::uint64_t file_bytes = context.choose<std::uint64_t>(1_GiB, 64_MiB);
  const std::uint64_t bytes = context.choose<std::uint64_t>(10 * 1_GiB, 256_MiB);
  const std::string path = WriteTarget::local(context, Access::kDirect).files(file_bytes).front();
  std::vector<double> above;
  for (int run = 0; run < 5; ++run) {
    const auto before = static_cast<double>(pss_bytes(::getpid()).value());
    const auto peak = PeakMemory::start().value();
    Runtime runtime;
    FileStream one = open_stream(runtime, path);
    overwrite(one, bytes, file_bytes);
    const double most = static_cast<double>(peak->stop()) - before;
    above.push_back((most - static_cast<double>(64_MiB)) / kMebi);
  }
  context.add({"engine.memory_mib", "MiB", summarize(above), Goal{16}, {}});
  return {};
}

/// The first call finds the agent asleep; the second, right after it, awake.
Status bench_submission(Context& context) {
  constexpr int kTimes = 101;
  Runtime runtime;
  FileStream one =
      open_stream(runtime, WriteTarget::local(context, Access::kDirect).files(64_MiB).front());
  std::vector<double> asleep;
  std::vector<double> awake;
  for (int i = 0; i < kTimes; ++i) {
    check(one.stream.drain());
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    asleep.push_back(time_submission(one, 0).value() * kMicroseconds);
    awake.push_back(time_submission(one, 16_MiB).value() * kMicroseconds);
  }
  const auto add = [&](const std::string& id, const std::vector<double>& times, double goal) {
    if (context.is_selected(id)) context.add({id, "us", summarize(times), Goal{goal}, {}});
  };
  add("engine.handover_us", awake, 1);
  add("engine.handover_us.asleep", asleep, 6);
  return {};
}

namespace {

constexpr double kRateEach = 200e6;  // bytes a second
constexpr std::uint64_t kDeviceBuffer = 8_MiB;
constexpr std::uint64_t kDeviceBuffers = 16;

/// The absolute distance of a ratio from 1.
Summary distance_from_one(Summary ratio) {
  const auto distance = [](double value) { return std::abs(value - 1); };
  const auto [near, far] = std::minmax({distance(ratio.low), distance(ratio.high)});
  const bool has_one = ratio.low <= 1 && ratio.high >= 1;
  ratio.median = distance(ratio.median);
  ratio.low = has_one ? 0 : near;
  ratio.high = far;
  return ratio;
}

/// One device and two, both of a fixed rate, with `ratio` seconds of computing for each second of
/// writing.
Status compare_devices(Context& context,
                       const std::vector<std::string>& paths,
                       double ratio,
                       ComparedRow row) {
  const double write_s = static_cast<double>(kDeviceBuffer) / kRateEach;
  const BufferComputation computation = BufferComputation::with_duration(ratio * write_s);
  Runtime runtime;
  const auto variant = [&](const std::string& name, const std::vector<std::string>& used) {
    const WriteLoop loop{used, Access::kDirect, kDeviceBuffer, kDeviceBuffers, computation};
    return Variant{name, {}, [&runtime, loop] {
                     return run_with_forebay(runtime, loop, {.buffers = 4}).total_s;
                   }};
  };
  return context.compare(
      {.rows = {std::move(row)},
       .variants = {variant("one device", {paths.front()}), variant("two devices", paths)}});
}

}  // namespace

Status bench_devices(Context& context) {
  const auto target = WriteTarget::with_fixed_rate(context, 2, kRateEach);
  const auto paths = target.files(kDeviceBuffers * kDeviceBuffer);
  const auto affinity = ScopedAffinity::pin(usable_cores().front()).value();
  const RoundValue gain = ratio_of("one device", "two devices");
  const RoundValue distance = [&](const Rounds& rounds) { return distance_from_one(gain(rounds)); };
  check(
      compare_devices(context, paths, 0.05, {"engine.devices", gain, Goal{1.9, Better::kHigher}}));
  return compare_devices(context, paths, 4, {"engine.devices.idle", distance, Goal{0.03}});
}

}  // namespace forebay::bench::engine
