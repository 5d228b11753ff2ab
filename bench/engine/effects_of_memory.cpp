// SPDX-License-Identifier: Apache-2.0
// What is worth something wherever bytes are handed over and transferred: what lies beside what,
// huge pages, and buffers that the kernel knows.
#include <algorithm>
#include <array>
#include <barrier>
#include <functional>
#include <memory>
#include <thread>

#include "bench/engine/effects.hpp"
#include "bench/engine/engine.hpp"
#include "bench/engine/places.hpp"
#include "bench/engine/transfers.hpp"
#include "bench/frame/clock.hpp"
#include "bench/frame/cores.hpp"
#include "storage/file.hpp"
#include "storage/index_stack.hpp"

namespace forebay::bench::engine {

namespace {

constexpr const char* kFalseSharing = "engine.effect.false_sharing";
constexpr const char* kHugePages = "engine.effect.huge_pages";
constexpr const char* kRegistered = "engine.effect.registered";
constexpr const char* kAsItIs = "as it is";

/// One of two threads that do the same at the same time.
struct Taker {
  unsigned core = 0;
  double seconds = 0;
  Status placed = {};
};

/// Takes an index out of a free list and puts it back, `times` times.
template <class Stack>
void take_and_give_back(Stack& free, std::uint64_t times) {
  for (std::uint64_t i = 0; i < times; ++i) {
    if (const auto index = free.pop()) free.push(*index);
  }
}

/// Seconds for one pair of calls while two threads, on two cores, each use a free list of their
/// own; the lists follow each other in memory, `kApartBytes` between what is written.
template <std::size_t kApartBytes>
Result<double> time_free_lists(std::uint64_t times) {
  using Stack = storage::SpacedIndexStack<kApartBytes>;
  constexpr std::uint32_t kBuffers = 4;
  alignas(storage::kHotAtomicBytes) std::array<Stack, 2> lists{Stack(kBuffers), Stack(kBuffers)};
  const auto cores = usable_cores();
  std::array<Taker, 2> takers{Taker{.core = cores.front()}, Taker{.core = cores.back()}};
  std::barrier<> start(2);
  const auto run = [&](Taker& taker, Stack& list) {
    const auto here = OnCore::take(taker.core);
    if (!here) taker.placed = failure(here.error());
    start.arrive_and_wait();
    const Stopwatch watch;
    take_and_give_back(list, times);
    taker.seconds = watch.seconds();
  };
  {
    const std::jthread other(run, std::ref(takers.front()), std::ref(lists.front()));
    const std::jthread one(run, std::ref(takers.back()), std::ref(lists.back()));
  }
  for (const Taker& taker : takers) {
    if (!taker.placed) return failure(taker.placed.error());
  }
  return std::max(takers.front().seconds, takers.back().seconds) / static_cast<double>(times);
}

Status show_false_sharing(Context& context) {
  if (!context.wants(kFalseSharing)) return {};
  if (usable_cores().size() < 2) {
    context.leave_out(kFalseSharing, "it takes two threads, on a core each");
    return {};
  }
  const auto times = context.choose<std::uint64_t>(4'000'000, 200'000);
  return show_effect(
      context,
      {kFalseSharing,
       {{kAsItIs, {}, [=] { return time_free_lists<storage::kHotAtomicBytes>(times); }},
        {"neighbours", {}, [=] { return time_free_lists<alignof(std::uint64_t)>(times); }}}});
}

/// A file is written directly, by engines with different memory.
class DirectWriting {
 public:
  /// kUnsupported where there is no ring or no direct access.
  static Result<std::unique_ptr<DirectWriting>> make(Context& context);

  /// The engine as it is.
  Transfers& usual() const noexcept { return *usual_; }
  Result<std::unique_ptr<Transfers>> engine(TransferMemory memory) const {
    return Transfers::make(load_.request_bytes, load_.depth, memory);
  }

  using Measure = double Taken::*;
  Variant variant(std::string name, Transfers& engine, Measure measure) const {
    return {std::move(name), {}, [this, &engine, measure]() -> Result<double> {
              return engine.run(load_, path_).map(measure);
            }};
  }

 private:
  DirectWriting(std::string path, const Load& load) : path_(std::move(path)), load_(load) {}

  std::string path_;
  Load load_;
  std::unique_ptr<Transfers> usual_;
};

Result<std::unique_ptr<DirectWriting>> DirectWriting::make(Context& context) {
  const auto bytes = context.choose<std::uint64_t>(1_GiB, 64_MiB);
  const auto paths = Place::local(context, Access::kDirect)->files(bytes);
  if (!paths) return failure(paths.error());
  const Load load{.direction = Direction::kWrite,
                  .request_bytes = 1_MiB,
                  .depth = 8,
                  .total_bytes = bytes,
                  .file_bytes = bytes};
  std::unique_ptr<DirectWriting> job(new DirectWriting(paths->front(), load));
  const auto file = storage::open_file(
      job->path_, {.intent = storage::Intent::kWrite, .access = Access::kDirect});
  if (!file) return failure(file.error());
  auto usual = job->engine({});
  if (!usual) return failure(usual.error());
  job->usual_ = std::move(*usual);
  return job;
}

Status show_huge_pages(Context& context, const DirectWriting& job) {
  const auto small = job.engine({.pages = TransferMemory::Pages::kSmall});
  if (!small) return failure(small.error());
  return show_effect(context, {kHugePages,
                               {job.variant(kAsItIs, job.usual(), &Taken::seconds),
                                job.variant("pages of 4 KiB", **small, &Taken::seconds)}});
}

Status show_registered(Context& context, const DirectWriting& job) {
  if (!job.usual().is_registered()) {
    context.leave_out(kRegistered, "memory may not be locked here; see ulimit -l");
    return {};
  }
  using Pages = TransferMemory::Pages;
  const auto registration = TransferMemory::Registration::kNone;
  const auto unknown = job.engine({.registration = registration});
  if (!unknown) return failure(unknown.error());
  const auto small = job.engine({.pages = Pages::kSmall, .registration = registration});
  if (!small) return failure(small.error());
  return show_effect(context, {kRegistered,
                               {job.variant(kAsItIs, job.usual(), &Taken::cpu_seconds),
                                job.variant("not registered", **unknown, &Taken::cpu_seconds),
                                job.variant("nor in huge pages", **small, &Taken::cpu_seconds)}});
}

Status show_direct_writing(Context& context) {
  const bool wants_pages = context.wants(kHugePages);
  const bool wants_registered = context.wants(kRegistered);
  if (!wants_pages && !wants_registered) return {};
  const auto job = DirectWriting::make(context);
  if (!job && job.error().kind() == ErrorClass::kUnsupported) {
    if (wants_pages) context.leave_out(kHugePages, job.error().message());
    if (wants_registered) context.leave_out(kRegistered, job.error().message());
    return {};
  }
  if (!job) return failure(job.error());
  if (wants_pages) {
    if (auto shown = show_huge_pages(context, **job); !shown) return shown;
  }
  return wants_registered ? show_registered(context, **job) : Status();
}

}  // namespace

Status bench_effects_of_memory(Context& context) {
  if (auto shown = show_false_sharing(context); !shown) return shown;
  return show_direct_writing(context);
}

}  // namespace forebay::bench::engine
