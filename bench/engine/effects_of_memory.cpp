// SPDX-License-Identifier: Apache-2.0
// Optimizations for any transfer of buffers: padding against false sharing, huge pages, and buffers
// registered with the kernel.
#include <algorithm>
#include <array>
#include <barrier>
#include <functional>
#include <memory>
#include <thread>

#include "bench/engine/engine.hpp"
#include "bench/engine/transfers.hpp"
#include "bench/engine/write_target.hpp"
#include "bench/frame/clock.hpp"
#include "bench/frame/cpu_affinity.hpp"
#include "storage/file.hpp"
#include "storage/index_stack.hpp"

namespace forebay::bench::engine {

namespace {

constexpr const char* kHugePages = "engine.effect.huge_pages";
constexpr const char* kRegistered = "engine.effect.registered";

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
double time_free_lists(std::uint64_t times) {
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
  for (const ListWorker& worker : workers)
    check(worker.placed);
  return std::max(workers.front().seconds, workers.back().seconds) / static_cast<double>(times);
}

using Engine = std::shared_ptr<EngineTransfers>;

/// A file is written directly by an engine.
Variant writing(std::string name,
                Engine engine,
                const TransferLoad& load,
                const std::string& path,
                double TransferCost::* measure) {
  return {std::move(name), {}, [=] { return engine->run(load, path).value().*measure; }};
}

}  // namespace

Status bench_false_sharing(Context& context) {
  const auto times = context.choose<std::uint64_t>(4'000'000, 200'000);
  return context.compare(
      {.rows = {{"engine.effect.false_sharing", ratio_of("adjacent", kBaseline)}},
       .rounds = effect_rounds(context),
       .variants = {
           {kBaseline, {}, [=] { return time_free_lists<storage::kFalseSharingBytes>(times); }},
           {"adjacent", {}, [=] { return time_free_lists<alignof(std::uint64_t)>(times); }}}});
}

Status bench_direct_writing(Context& context) {
  const auto bytes = context.choose<std::uint64_t>(1_GiB, 64_MiB);
  const std::string path = WriteTarget::local(context, Access::kDirect).files(bytes).front();
  const TransferLoad load{.direction = Direction::kWrite,
                          .request_bytes = 1_MiB,
                          .depth = 8,
                          .total_bytes = bytes,
                          .file_bytes = bytes};
  const auto engine = [&](TransferMemory memory) {
    return EngineTransfers::make(load.request_bytes, load.depth, memory);
  };
  const auto file =
      storage::open_file(path, {.intent = storage::Intent::kWrite, .access = Access::kDirect});
  auto usual = file ? engine({}) : failure(file.error());
  if (!usual && usual.error().kind() == ErrorClass::kUnsupported) {
    context.skip_selected({kHugePages, kRegistered}, usual.error().message());
    return {};
  }
  const Engine baseline = std::move(usual).value();
  using Pages = TransferMemory::Pages;
  if (context.is_selected(kHugePages)) {
    const Engine small = engine({.pages = Pages::kSmall}).value();
    const auto measure = &TransferCost::seconds;
    check(context.compare({.rows = {{kHugePages, ratio_of("pages of 4 KiB", kBaseline)}},
                           .rounds = effect_rounds(context),
                           .variants = {writing(kBaseline, baseline, load, path, measure),
                                        writing("pages of 4 KiB", small, load, path, measure)}}));
  }
  if (!baseline->is_registered()) {
    context.skip_selected({kRegistered}, "memory cannot be locked; raise the limit (ulimit -l)");
    return {};
  }
  if (!context.is_selected(kRegistered)) return {};
  const auto registration = TransferMemory::Registration::kNone;
  const Engine unknown = engine({.registration = registration}).value();
  const Engine small = engine({.pages = Pages::kSmall, .registration = registration}).value();
  const auto measure = &TransferCost::cpu_seconds;
  return context.compare({.rows = {{kRegistered, ratio_of("not registered", kBaseline)}},
                          .rounds = effect_rounds(context),
                          .variants = {writing(kBaseline, baseline, load, path, measure),
                                       writing("not registered", unknown, load, path, measure),
                                       writing("nor in huge pages", small, load, path, measure)}});
}

}  // namespace forebay::bench::engine
