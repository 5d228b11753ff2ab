// SPDX-License-Identifier: Apache-2.0
// The measurements, each with a short time limit. Direct reads go through the library's engine, so
// they measure what a session gets.
#include "tools/doctor/measure.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <random>
#include <span>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "storage/engine.hpp"
#include "storage/file.hpp"
#include "storage/probe.hpp"
#include "tools/doctor/unnamed_temporary_file.hpp"
#include "tools/probe/page_cache.hpp"

namespace forebay::doctor {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kRequestBytes = 256U << 10U;
constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kWriteBytes = 1U << 20U;
constexpr std::uint64_t kSyncEveryBytes = 16ULL << 20U;
constexpr std::array<std::size_t, 4> kDepths = {1, 4, 16, 32};
constexpr unsigned kStepCount = 3 + kDepths.size();

double now_seconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

/// Memory for all requests of a depth, aligned for direct access and prefaulted.
class Buffers {
 public:
  Buffers(std::size_t count, std::size_t each_bytes) : each_bytes_(each_bytes) {
    constexpr std::size_t kAlignment = 4096;
    memory_.reset(static_cast<std::byte*>(std::aligned_alloc(kAlignment, count * each_bytes)));
    if (memory_) std::fill_n(memory_.get(), count * each_bytes, std::byte{1});
  }
  bool is_valid() const { return memory_ != nullptr; }
  std::span<std::byte> at(std::size_t index) {
    return {memory_.get() + index * each_bytes_, each_bytes_};
  }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::size_t each_bytes_;
  std::unique_ptr<std::byte, Free> memory_;
};

tl::unexpected<Error> out_of_memory() {
  return failure({.kind = ErrorClass::kLimit,
                  .operation = "measure",
                  .cause = "out of memory; close other programs"});
}

/// Writes until the file has its maximum size or the time is over, which comes first on a slow
/// disk.
Result<Measurement> measure_write(storage::File& file,
                                  std::uint64_t bytes_max,
                                  double seconds_max) {
  Buffers buffer(1, kWriteBytes);
  if (!buffer.is_valid()) return out_of_memory();
  const double start = now_seconds();
  std::uint64_t at = 0;
  while (at < bytes_max && (at == 0 || now_seconds() - start < seconds_max)) {
    const auto put = file.write_at(buffer.at(0), at);
    if (!put) return tl::unexpected(put.error());
    at += *put;
    if (at % kSyncEveryBytes != 0) continue;
    if (const Status synced = file.sync(); !synced) return tl::unexpected(synced.error());
  }
  if (const Status synced = file.sync(); !synced) return tl::unexpected(synced.error());
  const double seconds = now_seconds() - start;
  return Measurement{.id = "write",
                     .what = "write through the page cache, synced every 16 MiB",
                     .value = static_cast<double>(at) / seconds,
                     .unit = "B/s",
                     .bytes = at};
}

Result<Measurement> measure_warm(const std::string& path,
                                 std::uint64_t size_bytes,
                                 double seconds_max) {
  if (const Status ready = probe::warm(path); !ready) return tl::unexpected(ready.error());
  auto file = storage::open_file(path);
  if (!file) return tl::unexpected(file.error());
  Buffers buffer(1, kRequestBytes);
  if (!buffer.is_valid()) return out_of_memory();
  const double start = now_seconds();
  std::uint64_t moved_bytes = 0;
  while (now_seconds() - start < seconds_max) {
    const auto got = (*file)->read_at(buffer.at(0), moved_bytes % size_bytes);
    if (!got) return tl::unexpected(got.error());
    moved_bytes += *got;
  }
  return Measurement{.id = "read.warm",
                     .what = "buffered read from the page cache, one thread",
                     .value = static_cast<double>(moved_bytes) / (now_seconds() - start),
                     .unit = "B/s",
                     .bytes = moved_bytes};
}

/// Reads a file in order, repeatedly, with a fixed number of requests in flight, until the time is
/// over.
class DepthReader {
 public:
  DepthReader(storage::Engine& engine, storage::File& file, std::uint64_t size_bytes)
      : engine_(engine), file_(file), places_(size_bytes / kRequestBytes) {}

  Result<std::uint64_t> run(std::size_t depth, double seconds_max) {
    Buffers buffers(depth, kRequestBytes);
    if (!buffers.is_valid()) return out_of_memory();
    for (std::size_t i = 0; i < depth; ++i)
      start(buffers.at(i), i);
    const double end = now_seconds() + seconds_max;
    Result<std::uint64_t> moved_bytes = 0;
    while (engine_.in_flight() > 0) {
      const std::size_t count = engine_.wait(completions_, std::nullopt);
      for (const auto& one : std::span(completions_).first(count)) {
        if (!one.bytes) moved_bytes = tl::unexpected(one.bytes.error());
        if (!moved_bytes) continue;
        *moved_bytes += *one.bytes;
        if (now_seconds() < end) start(buffers.at(one.tag), one.tag);
      }
    }
    return moved_bytes;
  }

 private:
  void start(std::span<std::byte> memory, std::uint64_t tag) {
    const std::uint64_t offset_bytes = (next_++ % places_) * kRequestBytes;
    const std::array operations = {storage::read_operation(file_, offset_bytes, memory, tag)};
    engine_.submit(operations);
  }

  storage::Engine& engine_;
  storage::File& file_;
  std::uint64_t places_;
  std::uint64_t next_ = 0;
  std::array<storage::Completion, 64> completions_;
};

struct DepthOptions {
  BackendChoice choice;
  std::size_t depth;
  double seconds_max;
};

Result<Measurement> measure_depth(storage::File& file,
                                  std::uint64_t size_bytes,
                                  const DepthOptions& how) {
  const std::size_t depth = how.depth;
  auto backend = storage::make_backend({.choice = how.choice, .queue_depth = depth});
  if (!backend) return tl::unexpected(backend.error());
  storage::Engine engine(std::move(*backend), {.queue_depth = depth});
  const double start = now_seconds();
  const auto moved_bytes = DepthReader(engine, file, size_bytes).run(depth, how.seconds_max);
  if (!moved_bytes) return tl::unexpected(moved_bytes.error());
  return Measurement{.id = fmt::format("read.direct.{}", depth),
                     .what = fmt::format("direct read of 256 KiB, {} in flight", depth),
                     .value = static_cast<double>(*moved_bytes) / (now_seconds() - start),
                     .unit = "B/s",
                     .bytes = *moved_bytes};
}

Result<Measurement> measure_latency(storage::File& file,
                                    std::uint64_t size_bytes,
                                    double seconds_max) {
  constexpr std::size_t kReadsMax = 4000;
  Buffers buffer(1, kPageBytes);
  if (!buffer.is_valid()) return out_of_memory();
  std::mt19937_64 random(1);
  std::vector<double> seconds;
  const double end = now_seconds() + seconds_max;
  while (seconds.size() < kReadsMax && (seconds.empty() || now_seconds() < end)) {
    const std::uint64_t offset_bytes = random() % (size_bytes / kPageBytes) * kPageBytes;
    const double start = now_seconds();
    const auto got = file.read_at(buffer.at(0), offset_bytes);
    if (!got) return tl::unexpected(got.error());
    seconds.push_back(now_seconds() - start);
  }
  std::sort(seconds.begin(), seconds.end());
  return Measurement{.id = "latency.4k",
                     .what = "direct read of 4 KiB at random offsets, one at a time",
                     .value = seconds[seconds.size() / 2],
                     .unit = "s",
                     .high = seconds[seconds.size() * 95 / 100],
                     .bytes = seconds.size() * kPageBytes};
}

/// Collects the results, reports the steps, and stops at the first failure.
class MeasurementRun {
 public:
  MeasurementRun(const MeasureLimits& limits, const probe::ProgressSink& on_progress)
      : limits_(limits), on_progress_(on_progress) {}

  // Writing may take 30 % of the time, every other step 10 % at most.
  double write_seconds() const { return limits_.seconds_max * 0.3; }
  double step_seconds() const { return std::min(0.8, limits_.seconds_max * 0.07); }

  Status run_step(const std::string& what, const std::function<Result<Measurement>()>& measure) {
    const auto reported = report(on_progress_, {done_, kStepCount, "steps", what}, "measure");
    if (!reported) return reported;
    auto measured = measure();
    if (!measured) return tl::unexpected(measured.error());
    result_.values.push_back(std::move(*measured));
    ++done_;
    return {};
  }

  Status buffered(const std::string& path) {
    auto file = storage::open_file(path, {.intent = storage::Intent::kWrite});
    if (!file) return tl::unexpected(file.error());
    const Status written = run_step(
        "writing", [&] { return measure_write(**file, limits_.file_bytes_max, write_seconds()); });
    if (!written) return written;
    result_.file_bytes = result_.values.back().bytes;
    return run_step("reading warm",
                    [&] { return measure_warm(path, result_.file_bytes, step_seconds()); });
  }

  Status direct(const std::string& path) {
    auto file = storage::open_file(path, {.access = Access::kDirect});
    if (!file) return skip_or_fail(file.error());
    // Cached pages of the file make direct reads slower, and are not part of the measurement.
    if (const Status dropped = probe::drop_cached(path); !dropped) {
      return skip_or_fail(dropped.error());
    }
    for (const std::size_t depth : kDepths) {
      const Status read = run_step(fmt::format("reading, {} in flight", depth), [&] {
        return measure_depth(**file, result_.file_bytes, {limits_.backend, depth, step_seconds()});
      });
      if (!read) return skip_or_fail(read.error());
    }
    return run_step("latency",
                    [&] { return measure_latency(**file, result_.file_bytes, step_seconds()); });
  }

  // Not a failure, but a result: a directory in memory has no direct reads, and an engine chosen by
  // name may not work.
  Status skip_or_fail(const Error& error) {
    if (error.kind() != ErrorClass::kUnsupported) return tl::unexpected(error);
    result_.not_measured = error.cause().empty() ? error.message() : error.cause();
    return {};
  }

  Measurements finish() {
    if (on_progress_) on_progress_({kStepCount, kStepCount, "steps", "measured"});
    const auto backend = storage::make_backend({.choice = limits_.backend});
    if (backend) result_.backend = std::string((*backend)->name());
    return std::move(result_);
  }

 private:
  const MeasureLimits limits_;
  const probe::ProgressSink& on_progress_;
  Measurements result_;
  unsigned done_ = 0;
};

/// Names the directory, because the user does not see the unnamed file.
Error in_directory(const Error& error, const fs::path& directory) {
  return Error({.kind = error.kind(),
                .operation = error.operation() + " a temporary file in",
                .path = directory.string(),
                .offset_bytes = error.offset_bytes(),
                .error_number = error.error_number(),
                .cause = error.cause()});
}

}  // namespace

Result<Measurements> measure_storage(const fs::path& directory,
                                     const MeasureLimits& limits,
                                     const probe::ProgressSink& on_progress) {
  const UnnamedTemporaryFile file(directory);
  if (file.error_number() != 0) {
    return tl::unexpected(
        system_error({.operation = "create a temporary file in", .path = directory.string()},
                     file.error_number()));
  }
  MeasurementRun measurement(limits, on_progress);
  Status done = measurement.buffered(file.path());
  if (done) done = measurement.direct(file.path());
  if (!done) return tl::unexpected(in_directory(done.error(), directory));
  return measurement.finish();
}

nlohmann::json to_json(const Measurements& measurements) {
  auto values = nlohmann::json::array();
  for (const Measurement& one : measurements.values) {
    values.push_back({{"id", one.id},
                      {"what", one.what},
                      {"value", one.value},
                      {"unit", one.unit},
                      {"high", one.high > 0 ? nlohmann::json(one.high) : nlohmann::json()},
                      {"bytes", one.bytes}});
  }
  return {{"values", std::move(values)},
          {"file_bytes", measurements.file_bytes},
          {"backend", measurements.backend},
          {"not_measured", measurements.not_measured}};
}

}  // namespace forebay::doctor
