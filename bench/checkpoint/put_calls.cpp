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
double time_step(Runtime& runtime,
                 DatasetWriter& dataset,
                 PutMode mode,
                 std::span<const std::byte> block) {
  Buffer buffer;
  if (mode == PutMode::kAdopt) {
    buffer = runtime.allocate(block.size()).value();
    std::memcpy(buffer.data(), block.data(), block.size());
  } else {
    std::this_thread::sleep_for(kStepInterval);
  }
  const auto newest = dataset.newest_step();
  auto step = dataset.begin_step(newest ? *newest + 1 : 0).value();
  const Stopwatch watch;
  const Status put = mode == PutMode::kAdopt
                         ? step.put<std::byte>(kField, Part{0}, adopt(std::move(buffer)))
                         : step.put(kField, Part{0}, block);
  const double put_s = watch.seconds();
  check(put);
  Future<Receipt> receipt = step.commit();
  const double all_s = watch.seconds();
  receipt.wait().value();
  return mode == PutMode::kAdopt ? all_s : put_s;
}

/// Seconds of a call, the median of several steps after a first one, which allocates memory.
double time_put(const std::filesystem::path& path, PutMode mode, std::span<const std::byte> block) {
  Runtime runtime;
  WritePlan plan;
  plan.tuning.checksum_stage =
      mode == PutMode::kHashingCopy ? ChecksumStage::kCopy : ChecksumStage::kAgent;
  auto dataset = runtime.create_dataset(path, {.plan = plan}).value();
  std::vector<double> seconds;
  for (std::uint64_t step = 0; step <= kCountedSteps; ++step) {
    const double one = time_step(runtime, dataset, mode, block);
    if (step > 0) seconds.push_back(one);
  }
  check(dataset.close());
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
double time_copies(std::span<const std::byte> block) {
  const std::uint64_t bytes = std::max<std::uint64_t>(kStagingBytes, block.size());
  auto buffer = shm::NodeMemory::create("bench-room", bytes).value();
  check(buffer.prefault({0, bytes}));
  const auto into = buffer.bytes().first(block.size());
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

}  // namespace

Status bench_adopt(Context& context) {
  const auto block = PrefaultedMemory::make(context.choose(kPutBytes)).value();
  const auto path = context.directory() / "pieces.fb";
  const auto measure = [&] {
    return time_put(path, PutMode::kAdopt, block.bytes()) * kMicroseconds;
  };
  return context.compare({.rows = {{"ckpt.perceived.adopt_us", value_of("adopt"), Goal{20}, "us"}},
                          .variants = {{"adopt", removal_of(path), measure}},
                          .peers = {{}}});
}

Status bench_put(Context& context) {
  const std::string id = "ckpt.perceived.over_memcpy";
  const auto block = PrefaultedMemory::make(context.choose(kPutBytes)).value();
  const auto path = context.directory() / "pieces.fb";
  const auto put = [&](PutMode mode) {
    return [&path, &block, mode] { return time_put(path, mode, block.bytes()); };
  };
  const Rounds rounds =
      context
          .run(id, kRounds,
               {{"memcpy", {}, [&] { return time_copies(block.bytes()); }},
                {"agent hashes", removal_of(path), put(PutMode::kCopy)},
                {"hashing on the copy", removal_of(path), put(PutMode::kHashingCopy)}})
          .value();
  const double megabytes = static_cast<double>(block.bytes().size()) / kMegabyte;
  const auto rate = [&](const char* name) {
    std::vector<double> values = rounds.values(name);
    for (double& value : values)
      value = megabytes / value;
    return Peer{name, "MB/s", summarize(std::move(values))};
  };
  context.add({id,
               "1",
               rounds.ratio("memcpy", "agent hashes"),
               Goal{0.9, Better::kHigher},
               {{"hashing on the copy", "1", rounds.ratio("memcpy", "hashing on the copy")},
                rate("memcpy"),
                rate("agent hashes")}});
  return {};
}

}  // namespace forebay::bench::checkpoint
