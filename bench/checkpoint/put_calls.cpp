// SPDX-License-Identifier: Apache-2.0
// Cost of put() and commit() for the application, without other waits: of an adopted buffer, and of
// a copy beside the plain copy. Each dataset's steps are durable before the next one begins, so
// that no other work is timed.
#include <forebay/runtime.hpp>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <system_error>
#include <thread>

#include "bench/checkpoint/call_rows.hpp"
#include "bench/frame/clock.hpp"
#include "bench/frame/file_partition.hpp"
#include "shm/node_memory.hpp"

namespace forebay::bench::checkpoint {

namespace {

constexpr double kMegabyte = 1e6;
constexpr const char* kField = "block";
constexpr std::uint64_t kCountedSteps = 5;
/// Staging that plans choose without any facts.
constexpr std::uint64_t kStagingBytes = 64_MiB;
constexpr std::uint64_t kPieceBytes = 1_MiB;
constexpr ByEffort<std::uint64_t> kPutBytes = {.quick = 4_MiB, .usual = 64_MiB, .full = 64_MiB};
/// Approximate time until a step is durable. Consecutive copies would find caches, page tables and
/// processors warm, unlike copies between checkpoints.
constexpr std::chrono::milliseconds kStepInterval{100};

enum class PutMode : std::uint8_t { kAdopt, kCopy, kHashingCopy };

/// Keeps the compiler from removing writes to this memory.
void do_not_optimize(std::span<const std::byte> bytes) {
  asm volatile("" : : "g"(bytes.data()) : "memory");
}

double median_of(std::vector<double> values) { return summarize(std::move(values)).median; }

/// One step, durable at the end. The seconds of put(), and of commit() too if the buffer is
/// adopted.
Result<double> time_step(Runtime& runtime,
                         const DatasetWriter& dataset,
                         PutMode mode,
                         std::span<const std::byte> block) {
  Buffer buffer;
  if (mode == PutMode::kAdopt) {
    auto made = runtime.allocate(block.size());
    if (!made) return failure(made.error());
    buffer = std::move(*made);
    std::memcpy(buffer.data(), block.data(), block.size());
  } else {
    std::this_thread::sleep_for(kStepInterval);
  }
  const auto newest = dataset.newest_step();
  DatasetWriter writer = dataset;
  auto step = writer.begin_step(newest ? *newest + 1 : 0);
  if (!step) return failure(step.error());
  const Stopwatch watch;
  const Status put = mode == PutMode::kAdopt
                         ? step->put<std::byte>(kField, Part{0}, adopt(std::move(buffer)))
                         : step->put(kField, Part{0}, block);
  const double put_s = watch.seconds();
  if (!put) return failure(put.error());
  Future<Receipt> receipt = step->commit();
  const double all_s = watch.seconds();
  if (const auto durable = receipt.wait(); !durable) return failure(durable.error());
  return mode == PutMode::kAdopt ? all_s : put_s;
}

/// Seconds of a call, the median of several steps after a first one, which allocates memory.
Result<double> time_put(const std::filesystem::path& path,
                        PutMode mode,
                        std::span<const std::byte> block) {
  Runtime runtime;
  WritePlan plan;
  plan.tuning.checksum_stage =
      mode == PutMode::kHashingCopy ? ChecksumStage::kCopy : ChecksumStage::kAgent;
  auto dataset = runtime.create_dataset(path, {.plan = plan});
  if (!dataset) return failure(dataset.error());
  std::vector<double> seconds;
  for (std::uint64_t step = 0; step <= kCountedSteps; ++step) {
    const auto one = time_step(runtime, *dataset, mode, block);
    if (!one) return failure(one.error());
    if (step > 0) seconds.push_back(*one);
  }
  if (Status closed = dataset->close(); !closed) return failure(closed.error());
  return median_of(std::move(seconds));
}

double time_copy(std::span<const std::byte> block,
                 std::span<std::byte> into,
                 std::uint64_t piece_bytes) {
  std::this_thread::sleep_for(kStepInterval);
  const Stopwatch watch;
  for (std::uint64_t at = 0; at < block.size(); at += piece_bytes)
    std::memcpy(into.data() + at, block.data() + at, std::min(piece_bytes, block.size() - at));
  do_not_optimize(into);
  return watch.seconds();
}

/// Copies into memory like staging: of the same size, in huge pages where available. In one call or
/// in pieces, as staging is filled, whichever is faster.
Result<double> time_copies(std::span<const std::byte> block) {
  const std::uint64_t bytes = std::max<std::uint64_t>(kStagingBytes, block.size());
  auto buffer = shm::NodeMemory::create("bench-room", bytes);
  if (!buffer) return failure(buffer.error());
  if (auto taken = buffer->prefault({0, bytes}); !taken) return failure(taken.error());
  const auto into = buffer->bytes().first(block.size());
  std::vector<double> seconds;
  for (std::uint64_t step = 0; step <= kCountedSteps; ++step) {
    const double best =
        std::min(time_copy(block, into, block.size()), time_copy(block, into, kPieceBytes));
    if (step > 0) seconds.push_back(best);
  }
  return median_of(std::move(seconds));
}

/// When the Runtime that wrote the dataset has ended.
std::function<Status()> removal_of(const std::filesystem::path& path) {
  return [path]() -> Status {
    std::error_code failed;
    std::filesystem::remove_all(path, failed);
    if (!failed) return {};
    return failure(system_error({.operation = "remove", .path = path.string()}, failed.value()));
  };
}

std::vector<double> transformed(std::vector<double> values,
                                double (*change)(double, double),
                                double argument) {
  for (double& value : values)
    value = change(value, argument);
  return values;
}

}  // namespace

Status bench_adopt(Context& context) {
  const std::string id = "ckpt.perceived.adopt_us";
  if (!context.is_selected(id)) return {};
  const auto block = PrefaultedMemory::make(context.choose(kPutBytes));
  if (!block) return failure(block.error());
  const auto path = context.directory() / "pieces.fb";
  const auto measure = [&] { return time_put(path, PutMode::kAdopt, block->bytes()); };
  const auto rounds = context.run(id, kRounds, {{"adopt", removal_of(path), measure}});
  if (!rounds) return failure(rounds.error());
  const auto to_us = [](double seconds, double factor) { return seconds * factor; };
  context.add({id,
               "us",
               summarize(transformed(rounds->values("adopt"), to_us, kMicroseconds)),
               Goal{20, Better::kLower},
               {}});
  return {};
}

Status bench_put(Context& context) {
  const std::string id = "ckpt.perceived.over_memcpy";
  if (!context.is_selected(id)) return {};
  const auto block = PrefaultedMemory::make(context.choose(kPutBytes));
  if (!block) return failure(block.error());
  const auto path = context.directory() / "pieces.fb";
  const auto put = [&](PutMode mode) {
    return [&path, &block, mode] { return time_put(path, mode, block->bytes()); };
  };
  const auto rounds =
      context.run(id, kRounds,
                  {{"memcpy", {}, [&] { return time_copies(block->bytes()); }},
                   {"agent hashes", removal_of(path), put(PutMode::kCopy)},
                   {"hashing on the copy", removal_of(path), put(PutMode::kHashingCopy)}});
  if (!rounds) return failure(rounds.error());
  const auto megabytes = static_cast<double>(block->bytes().size()) / kMegabyte;
  const auto to_rate = [](double seconds, double size) { return size / seconds; };
  const auto rate = [&](const char* name) {
    return Peer{name, "MB/s", summarize(transformed(rounds->values(name), to_rate, megabytes))};
  };
  context.add({id,
               "1",
               rounds->ratio("memcpy", "agent hashes"),
               Goal{0.9, Better::kHigher},
               {{"hashing on the copy", "1", rounds->ratio("memcpy", "hashing on the copy")},
                rate("memcpy"),
                rate("agent hashes")}});
  return {};
}

}  // namespace forebay::bench::checkpoint
