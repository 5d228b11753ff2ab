// SPDX-License-Identifier: Apache-2.0
// What a stream costs beside the bytes it moves: memory, the time of a hand-over; and what a second
// device brings.
#include <forebay/output_stream.hpp>
#include <forebay/runtime.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "bench/engine/engine.hpp"
#include "bench/engine/gain.hpp"
#include "bench/frame/clock.hpp"
#include "bench/frame/cores.hpp"
#include "bench/frame/peak_memory.hpp"
#include "bench/frame/statistics.hpp"

namespace forebay::bench::engine {

namespace {

constexpr double kMicroseconds = 1e6;

/// A stream with one file of the folder, which exists and has its blocks.
struct OneFile {
  OutputStream stream;
  OutputFile file;
};

Result<OneFile> open_stream(Runtime& runtime, const std::string& path, const StreamPlan& plan) {
  auto stream = runtime.output_stream(plan);
  if (!stream) return failure(stream.error());
  auto file = stream->create(path, {.existing = Existing::kKeep});
  if (!file) return failure(file.error());
  return OneFile{std::move(*stream), std::move(*file)};
}

/// Writes `bytes` of whatever is in the buffers, from the file's begin again and again.
Status write_over(OneFile& one, std::uint64_t bytes, std::uint64_t file_bytes) {
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
  if (!context.wants(id)) return {};
  constexpr double kMebi = 1 << 20U;
  const std::uint64_t file_bytes = context.choose<std::uint64_t>(1_GiB, 64_MiB);
  const std::uint64_t bytes = context.choose<std::uint64_t>(10 * 1_GiB, 256_MiB);
  const auto place = Place::local(context, Access::kDirect);
  const auto paths = place->files(file_bytes);
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
    if (auto done = write_over(*one, bytes, file_bytes); !done) return done;
    const double most = static_cast<double>((*peak)->stop()) - static_cast<double>(*before);
    above.push_back((most - static_cast<double>(64_MiB)) / kMebi);
  }
  context.add({id, "MiB", summarise(above), Goal{16}, {}});
  return {};
}

/// Seconds for try_acquire() and submit() of one buffer, after `pause` in which nothing was done.
Result<double> time_hand_over(OneFile& one, std::uint64_t at) {
  const Stopwatch watch;
  auto buffer = one.stream.try_acquire();
  if (!buffer) return failure(buffer.error());
  if (!*buffer) return failure({.operation = "acquire a buffer", .cause = "none is free"});
  if (auto taken = one.stream.submit(std::move(**buffer), one.file, at); !taken)
    return failure(taken.error());
  return watch.seconds();
}

/// The first finds the agent asleep; the second, right after it, awake.
Status bench_hand_over(Context& context) {
  const std::string awake_id = "engine.handover_us";
  const std::string asleep_id = "engine.handover_us.asleep";
  const bool wants_awake = context.wants(awake_id);
  const bool wants_asleep = context.wants(asleep_id);
  if (!wants_awake && !wants_asleep) return {};
  constexpr int kTimes = 101;
  const auto place = Place::local(context, Access::kDirect);
  const auto paths = place->files(64_MiB);
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
    const auto first = time_hand_over(*one, 0);
    if (!first) return failure(first.error());
    const auto second = time_hand_over(*one, 16_MiB);
    if (!second) return failure(second.error());
    asleep.push_back(*first * kMicroseconds);
    awake.push_back(*second * kMicroseconds);
  }
  if (wants_awake) context.add({awake_id, "us", summarise(awake), Goal{1}, {}});
  if (wants_asleep) context.add({asleep_id, "us", summarise(asleep), Goal{6}, {}});
  return {};
}

constexpr double kRateEach = 200e6;  // bytes a second
constexpr std::uint64_t kDeviceBuffer = 8_MiB;
constexpr std::uint64_t kDeviceBuffers = 16;

/// What the model says a second device brings.
enum class Expected : std::uint8_t { kGain, kNothing };

/// How far a ratio is from 1, either way.
Summary distance_from_one(Summary ratio) {
  const auto distance = [](double value) { return std::abs(value - 1); };
  const auto [near, far] = std::minmax({distance(ratio.low), distance(ratio.high)});
  const bool has_one = ratio.low <= 1 && ratio.high >= 1;
  ratio.median = distance(ratio.median);
  ratio.low = has_one ? 0 : near;
  ratio.high = far;
  return ratio;
}

/// One device and two, both of a fixed rate, with so much computing for each second of writing.
Status add_devices_row(Context& context,
                       const std::vector<std::string>& paths,
                       double ratio,
                       Expected expected,
                       ResultRow row) {
  const double write_s = static_cast<double>(kDeviceBuffer) / kRateEach;
  const Computation computation = Computation::lasting(ratio * write_s);
  Runtime runtime;
  const auto variant = [&](const std::string& name, const std::vector<std::string>& used) {
    const Loop loop{used, Access::kDirect, kDeviceBuffer, kDeviceBuffers, computation};
    return Variant{
        name, {}, [&runtime, loop] {
          return run_with_forebay(runtime, loop, {.buffers = 4}).map(&LoopTimes::total_s);
        }};
  };
  const auto rounds = context.run(
      row.id, 5, {variant("one device", {paths.front()}), variant("two devices", paths)});
  if (!rounds) return failure(rounds.error());
  row.measured = rounds->ratio("one device", "two devices");
  if (expected == Expected::kNothing) row.measured = distance_from_one(row.measured);
  row.peers = {{"one device", "s", rounds->summary("one device")},
               {"two devices", "s", rounds->summary("two devices")}};
  context.add(std::move(row));
  return {};
}

Status bench_devices(Context& context) {
  const std::string busy_id = "engine.devices";
  const std::string idle_id = "engine.devices.idle";
  const bool wants_busy = context.wants(busy_id);
  const bool wants_idle = context.wants(idle_id);
  if (!wants_busy && !wants_idle) return {};
  if (const std::string why = why_no_fixed_rate(); !why.empty()) {
    if (wants_busy) context.leave_out(busy_id, why);
    if (wants_idle) context.leave_out(idle_id, why);
    return {};
  }
  const auto place = Place::of_fixed_rate(context, 2, kRateEach);
  if (!place) return failure(place.error());
  const auto paths = (*place)->files(kDeviceBuffers * kDeviceBuffer);
  if (!paths) return failure(paths.error());
  const auto here = OnCore::take(usable_cores().front());
  if (!here) return failure(here.error());
  Status done;
  if (wants_busy) {
    done = add_devices_row(
        context, *paths, 0.05, Expected::kGain,
        {.id = busy_id, .unit = "1", .measured = {}, .goal = Goal{1.9, Better::kHigher}});
  }
  if (!done || !wants_idle) return done;
  return add_devices_row(context, *paths, 4, Expected::kNothing,
                         {.id = idle_id, .unit = "1", .measured = {}, .goal = Goal{0.03}});
}

}  // namespace

Status bench_streams(Context& context) {
  for (Status (*const part)(Context&) : {bench_memory, bench_hand_over, bench_devices}) {
    if (auto done = part(context); !done) return done;
  }
  return {};
}

}  // namespace forebay::bench::engine
