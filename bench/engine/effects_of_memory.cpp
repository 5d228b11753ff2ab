// SPDX-License-Identifier: Apache-2.0
// Optimizations for any transfer of buffers: padding against false sharing, huge pages, and buffers
// registered with the kernel.
#include <algorithm>
#include <array>
#include <barrier>
#include <functional>
#include <memory>
#include <thread>

#include "bench/engine/effects.hpp"
#include "bench/engine/engine.hpp"
#include "bench/engine/transfers.hpp"
#include "bench/engine/write_target.hpp"
#include "bench/frame/clock.hpp"
#include "bench/frame/cpu_affinity.hpp"
#include "storage/file.hpp"
#include "storage/index_stack.hpp"

namespace forebay::bench::engine {

namespace {

constexpr const char* kFalseSharing = "engine.effect.false_sharing";
constexpr const char* kHugePages = "engine.effect.huge_pages";
constexpr const char* kRegistered = "engine.effect.registered";
constexpr const char* kBaseline = "as it is";

/// One of two threads that run the same loop concurrently.
struct ListWorker {
  unsigned core = 0;
  double seconds = 0;
  Status placed = {};
};

/// Removes an index from a free list and returns it, `times` times.
template <class Stack>
void pop_and_push(Stack& free, std::uint64_t times) {
  for (std::uint64_t i = 0; i < times; ++i) {
    if (const auto index = free.pop()) free.push(*index);
  }
}

/// Seconds for one pair of calls while two threads, on two cores, each use a separate free list.
/// The lists are adjacent in memory, with `kPaddingBytes` between the words that are written.
template <std::size_t kPaddingBytes>
Result<double> time_free_lists(std::uint64_t times) {
  using Stack = storage::PaddedIndexStack<kPaddingBytes>;
  constexpr std::uint32_t kBuffers = 4;
  alignas(storage::kFalseSharingBytes) std::array<Stack, 2> lists{Stack(kBuffers), Stack(kBuffers)};
  const auto cores = usable_cores();
  std::array<ListWorker, 2> workers{ListWorker{.core = cores.front()},
                                    ListWorker{.core = cores.back()}};
  std::barrier<> start(2);
  const auto run = [&](ListWorker& worker, Stack& list) {
    const auto affinity = ScopedAffinity::pin(worker.core);
    if (!affinity) worker.placed = failure(affinity.error());
    start.arrive_and_wait();
    const Stopwatch watch;
    pop_and_push(list, times);
    worker.seconds = watch.seconds();
  };
  {
    const std::jthread other(run, std::ref(workers.front()), std::ref(lists.front()));
    const std::jthread one(run, std::ref(workers.back()), std::ref(lists.back()));
  }
  for (const ListWorker& worker : workers) {
    if (!worker.placed) return failure(worker.placed.error());
  }
  return std::max(workers.front().seconds, workers.back().seconds) / static_cast<double>(times);
}

Status measure_false_sharing(Context& context) {
  if (!context.is_selected(kFalseSharing)) return {};
  if (usable_cores().size() < 2) {
    context.skip(kFalseSharing, "two cores are required, one for each thread");
    return {};
  }
  const auto times = context.choose<std::uint64_t>(4'000'000, 200'000);
  return measure_effect(
      context,
      {kFalseSharing,
       {{kBaseline, {}, [=] { return time_free_lists<storage::kFalseSharingBytes>(times); }},
        {"adjacent", {}, [=] { return time_free_lists<alignof(std::uint64_t)>(times); }}}});
}

/// Writes a file directly, by engines with different memory.
class DirectWriteJob {
 public:
  /// kUnsupported without io_uring or without direct access.
  static Result<std::unique_ptr<DirectWriteJob>> make(Context& context);

  /// The engine with all optimizations.
  EngineTransfers& baseline() const noexcept { return *baseline_; }
  Result<std::unique_ptr<EngineTransfers>> engine(TransferMemory memory) const {
    return EngineTransfers::make(load_.request_bytes, load_.depth, memory);
  }

  using Measure = double TransferCost::*;
  Variant variant(std::string name, EngineTransfers& engine, Measure measure) const {
    return {std::move(name), {}, [this, &engine, measure]() -> Result<double> {
              return engine.run(load_, path_).map(measure);
            }};
  }

 private:
  DirectWriteJob(std::string path, const TransferLoad& load)
      : path_(std::move(path)), load_(load) {}

  std::string path_;
  TransferLoad load_;
  std::unique_ptr<EngineTransfers> baseline_;
};

Result<std::unique_ptr<DirectWriteJob>> DirectWriteJob::make(Context& context) {
  const auto bytes = context.choose<std::uint64_t>(1_GiB, 64_MiB);
  const auto paths = WriteTarget::local(context, Access::kDirect)->files(bytes);
  if (!paths) return failure(paths.error());
  const TransferLoad load{.direction = Direction::kWrite,
                          .request_bytes = 1_MiB,
                          .depth = 8,
                          .total_bytes = bytes,
                          .file_bytes = bytes};
  std::unique_ptr<DirectWriteJob> job(new DirectWriteJob(paths->front(), load));
  const auto file = storage::open_file(
      job->path_, {.intent = storage::Intent::kWrite, .access = Access::kDirect});
  if (!file) return failure(file.error());
  auto usual = job->engine({});
  if (!usual) return failure(usual.error());
  job->baseline_ = std::move(*usual);
  return job;
}

Status measure_huge_pages(Context& context, const DirectWriteJob& job) {
  const auto small = job.engine({.pages = TransferMemory::Pages::kSmall});
  if (!small) return failure(small.error());
  return measure_effect(context,
                        {kHugePages,
                         {job.variant(kBaseline, job.baseline(), &TransferCost::seconds),
                          job.variant("pages of 4 KiB", **small, &TransferCost::seconds)}});
}

Status measure_registration(Context& context, const DirectWriteJob& job) {
  if (!job.baseline().is_registered()) {
    context.skip(kRegistered, "memory cannot be locked; raise the limit (ulimit -l)");
    return {};
  }
  using Pages = TransferMemory::Pages;
  const auto registration = TransferMemory::Registration::kNone;
  const auto unknown = job.engine({.registration = registration});
  if (!unknown) return failure(unknown.error());
  const auto small = job.engine({.pages = Pages::kSmall, .registration = registration});
  if (!small) return failure(small.error());
  return measure_effect(context,
                        {kRegistered,
                         {job.variant(kBaseline, job.baseline(), &TransferCost::cpu_seconds),
                          job.variant("not registered", **unknown, &TransferCost::cpu_seconds),
                          job.variant("nor in huge pages", **small, &TransferCost::cpu_seconds)}});
}

Status measure_direct_writing(Context& context) {
  const bool is_pages_selected = context.is_selected(kHugePages);
  const bool is_registered_selected = context.is_selected(kRegistered);
  if (!is_pages_selected && !is_registered_selected) return {};
  const auto job = DirectWriteJob::make(context);
  if (!job && job.error().kind() == ErrorClass::kUnsupported) {
    if (is_pages_selected) context.skip(kHugePages, job.error().message());
    if (is_registered_selected) context.skip(kRegistered, job.error().message());
    return {};
  }
  if (!job) return failure(job.error());
  if (is_pages_selected) {
    if (auto measured = measure_huge_pages(context, **job); !measured) return measured;
  }
  return is_registered_selected ? measure_registration(context, **job) : Status();
}

}  // namespace

Status bench_effects_of_memory(Context& context) {
  if (auto measured = measure_false_sharing(context); !measured) return measured;
  return measure_direct_writing(context);
}

}  // namespace forebay::bench::engine
