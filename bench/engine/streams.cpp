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

Result<FileStream> open_stream(Runtime& runtime, const std::string& path, const StreamPlan& plan) {
  auto stream = runtime.create_output_stream(plan);
  if (!stream) return failure(stream.error());
  auto file = stream->create(path, {.existing_content = ExistingContent::kKeep});
  if (!file) return failure(file.error());
  return FileStream{std::move(*stream), std::move(*file)};
}

/// Writes `bytes` of the present content of the buffers, from the file's start, repeatedly.
Status overwrite(FileStream& one, std::uint64_t bytes, std::uint64_t file_bytes) {
  const std::uint64_t step = one.stream.plan().buffer_bytes;
  for (std::uint64_t at = 0; at < bytes; at += step) {
    auto buffer = one.stream.acquire();
    if (!buffer) return failure(buffer.error());
    if (auto taken = one.stream.submit(std::move(*buffer), one.file, at % file_bytes); !taken)
      return taken;
  }
  return one.stream.drain();
}

Status bench_memory(Context& context) {
  const std::string id = "engine.memory_mib";
  if (!context.is_selected(id)) return {};
  constexpr double kMebi = 1 << 20U;
  const std::uint64_t file_bytes = context.choose<std::uint64_t>(1_GiB, 64_MiB);
  const std::uint64_t bytes = context.choose<std::uint64_t>(10 * 1_GiB, 256_MiB);
  const auto target = WriteTarget::local(context, Access::kDirect);
  const auto paths = target->files(file_bytes);
  if (!paths) return failure(paths.error());
  std::vector<double> above;
  for (int run = 0; run < 5; ++run) {
    const auto before = pss_bytes(::getpid());
    if (!before) return failure(before.error());
    const auto peak = PeakMemory::start();
    if (!peak) return failure(peak.error());
    Runtime runtime;
    auto one = open_stream(runtime, paths->front(),
                           {.access = Access::kDirect, .buffer_bytes = 16_MiB, .buffers = 4});
    if (!one) return failure(one.error());
    if (auto done = overwrite(*one, bytes, file_bytes); !done) return done;
    const double most = static_cast<double>((*peak)->stop()) - static_cast<double>(*before);
    above.push_back((most - static_cast<double>(64_MiB)) / kMebi);
  }
  context.add({id, "MiB", summarize(above), Goal{16}, {}});
  return {};
}

/// Seconds for try_acquire() and submit() of one buffer.
Result<double> time_submission(FileStream& one, std::uint64_t at) {
  const Stopwatch watch;
  auto buffer = one.stream.try_acquire();
  if (!buffer) return failure(buffer.error());
  if (!*buffer) return failure({.operation = "acquire a buffer", .cause = "no buffer is free"});
  if (auto taken = one.stream.submit(std::move(**buffer), one.file, at); !taken)
    return failure(taken.error());
  return watch.seconds();
}

/// The first call finds the agent asleep; the second, right after it, awake.
Status bench_submission(Context& context) {
  const std::string awake_id = "engine.handover_us";
  const std::string asleep_id = "engine.handover_us.asleep";
  const bool is_awake_selected = context.is_selected(awake_id);
  const bool is_asleep_selected = context.is_selected(asleep_id);
  if (!is_awake_selected && !is_asleep_selected) return {};
  constexpr int kTimes = 101;
  const auto target = WriteTarget::local(context, Access::kDirect);
  const auto paths = target->files(64_MiB);
  if (!paths) return failure(paths.error());
  Runtime runtime;
  auto one = open_stream(runtime, paths->front(),
                         {.access = Access::kDirect, .buffer_bytes = 16_MiB, .buffers = 4});
  if (!one) return failure(one.error());
  std::vector<double> asleep;
  std::vector<double> awake;
  for (int i = 0; i < kTimes; ++i) {
    if (auto done = one->stream.drain(); !done) return done;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    const auto first = time_submission(*one, 0);
    if (!first) return failure(first.error());
    const auto second = time_submission(*one, 16_MiB);
    if (!second) return failure(second.error());
    asleep.push_back(*first * kMicroseconds);
    awake.push_back(*second * kMicroseconds);
  }
  if (is_awake_selected) context.add({awake_id, "us", summarize(awake), Goal{1}, {}});
  if (is_asleep_selected) context.add({asleep_id, "us", summarize(asleep), Goal{6}, {}});
  return {};
}

constexpr double kRateEach = 200e6;  // bytes a second
constexpr std::uint64_t kDeviceBuffer = 8_MiB;
constexpr std::uint64_t kDeviceBuffers = 16;

/// The model's gain of a second device.
enum class ExpectedGain : std::uint8_t { kSome, kNone };

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
Status add_devices_row(Context& context,
                       const std::vector<std::string>& paths,
                       double ratio,
                       ExpectedGain expected,
                       ResultRow row) {
  const double write_s = static_cast<double>(kDeviceBuffer) / kRateEach;
  const BufferComputation computation = BufferComputation::with_duration(ratio * write_s);
  Runtime runtime;
  const auto variant = [&](const std::string& name, const std::vector<std::string>& used) {
    const WriteLoop loop{used, Access::kDirect, kDeviceBuffer, kDeviceBuffers, computation};
    return Variant{
        name, {}, [&runtime, loop] {
          return run_with_forebay(runtime, loop, {.buffers = 4}).map(&LoopTimes::total_s);
        }};
  };
  const auto rounds = context.run(
      row.id, 5, {variant("one device", {paths.front()}), variant("two devices", paths)});
  if (!rounds) return failure(rounds.error());
  row.measured = rounds->ratio("one device", "two devices");
  if (expected == ExpectedGain::kNone) row.measured = distance_from_one(row.measured);
  row.peers = {{"one device", "s", rounds->summary("one device")},
               {"two devices", "s", rounds->summary("two devices")}};
  context.add(std::move(row));
  return {};
}

Status bench_devices(Context& context) {
  const std::string busy_id = "engine.devices";
  const std::string idle_id = "engine.devices.idle";
  const bool is_busy_selected = context.is_selected(busy_id);
  const bool is_idle_selected = context.is_selected(idle_id);
  if (!is_busy_selected && !is_idle_selected) return {};
  if (const std::string why = fixed_rate_unavailable_reason(); !why.empty()) {
    if (is_busy_selected) context.skip(busy_id, why);
    if (is_idle_selected) context.skip(idle_id, why);
    return {};
  }
  const auto target = WriteTarget::with_fixed_rate(context, 2, kRateEach);
  if (!target) return failure(target.error());
  const auto paths = (*target)->files(kDeviceBuffers * kDeviceBuffer);
  if (!paths) return failure(paths.error());
  const auto affinity = ScopedAffinity::pin(usable_cores().front());
  if (!affinity) return failure(affinity.error());
  Status done;
  if (is_busy_selected) {
    done = add_devices_row(
        context, *paths, 0.05, ExpectedGain::kSome,
        {.id = busy_id, .unit = "1", .measured = {}, .goal = Goal{1.9, Better::kHigher}});
  }
  if (!done || !is_idle_selected) return done;
  return add_devices_row(context, *paths, 4, ExpectedGain::kNone,
                         {.id = idle_id, .unit = "1", .measured = {}, .goal = Goal{0.03}});
}

}  // namespace

Status bench_streams(Context& context) {
  for (Status (*const part)(Context&) : {bench_memory, bench_submission, bench_devices}) {
    if (auto done = part(context); !done) return done;
  }
  return {};
}

}  // namespace forebay::bench::engine
