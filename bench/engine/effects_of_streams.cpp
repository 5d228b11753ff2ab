// SPDX-License-Identifier: Apache-2.0
// Optimizations for a program that computes and writes behind: placement of threads, reuse of
// buffers, and writing bytes once.
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "bench/cube/stdio_temporary_file.hpp"
#include "bench/engine/effects.hpp"
#include "bench/engine/engine.hpp"
#include "bench/engine/gain.hpp"
#include "bench/frame/clock.hpp"
#include "bench/frame/cpu_affinity.hpp"
#include "storage/file.hpp"

namespace forebay::bench::engine {

namespace {

namespace fs = std::filesystem;

constexpr const char* kPinning = "engine.effect.pinning";
constexpr const char* kAllocator = "engine.effect.allocator";
constexpr const char* kOnePass = "engine.effect.one_pass";
constexpr const char* kStreamBaseline = "as it is";

/// A stream that writes through the page cache, where writing needs a processor, behind a
/// computation of the same duration.
Result<WriteLoop> make_loop(Context& context) {
  const auto target = WriteTarget::local(context, Access::kBuffered);
  const auto write_s = write_seconds(*target, 16_MiB);
  if (!write_s) return failure(write_s.error());
  const std::uint64_t count = context.choose<std::uint64_t>(32, 4);
  const auto paths = target->files(count * 16_MiB);
  if (!paths) return failure(paths.error());
  return WriteLoop{.paths = {paths->front()},
                   .access = target->access(),
                   .buffer_bytes = 16_MiB,
                   .count = count,
                   .computation = BufferComputation::with_duration(*write_s)};
}

/// The time of the loop on the cores that the calling thread may use.
Result<double> time_loop(Runtime& runtime, const WriteLoop& loop, BufferMemory memory) {
  return run_with_forebay(runtime, loop, {.memory = memory}).map(&LoopTimes::total_s);
}

/// The same with the computation pinned to a core, as program launchers do.
Result<double> time_pinned_loop(Runtime& runtime,
                                const WriteLoop& loop,
                                BufferMemory memory = BufferMemory::kReused) {
  const auto affinity = ScopedAffinity::pin(usable_cores().front());
  if (!affinity) return failure(affinity.error());
  return time_loop(runtime, loop, memory);
}

/// Threads of a Runtime keep the affinity of the first file's opener, so each variant has a
/// separate Runtime.
Status measure_pinning(Context& context, const WriteLoop& loop) {
  Runtime separate_cores;
  Runtime any_core({.tuning = {.write_thread_affinity = WriteThreadAffinity::kInherited}});
  Runtime unbound;
  return measure_effect(
      context,
      {kPinning,
       {{kStreamBaseline, {}, [&] { return time_pinned_loop(separate_cores, loop); }},
        {"copying on the computation's core", {}, [&] { return time_pinned_loop(any_core, loop); }},
        {"nothing bound", {}, [&] { return time_loop(unbound, loop, BufferMemory::kReused); }}}});
}

Status measure_allocator(Context& context, const WriteLoop& loop) {
  Runtime runtime;
  const auto timed = [&](BufferMemory memory) {
    return [&runtime, &loop, memory] { return time_pinned_loop(runtime, loop, memory); };
  };
  return measure_effect(context, {kAllocator,
                                  {{kStreamBaseline, {}, timed(BufferMemory::kReused)},
                                   {"fresh memory", {}, timed(BufferMemory::kFresh)}}});
}

/// Writes `output` to the end of fsync, in one pass and in two.
class PassComparison {
 public:
  PassComparison(WriteLoop loop, std::string output)
      : loop_(std::move(loop)), output_(std::move(output)) {}

  Status prepare() const {
    std::error_code failed;
    fs::remove(output_, failed);
    return {};
  }

  Result<double> write_once() {
    loop_.paths = {output_};
    const auto seconds = time_pinned_loop(runtime_, loop_);
    if (!seconds) return seconds;
    const Stopwatch watch;
    auto file = storage::open_file(output_, {.intent = storage::Intent::kWrite});
    if (!file) return failure(file.error());
    if (auto synced = (*file)->sync(); !synced) return failure(synced.error());
    return *seconds + watch.seconds();
  }

  Result<double> write_twice() {
    auto rows = cube::StdioTemporaryFile::create(output_ + ".rows");
    if (!rows) return failure(rows.error());
    loop_.paths = {rows->path()};
    const auto seconds = time_pinned_loop(runtime_, loop_);
    if (!seconds) return seconds;
    const Stopwatch watch;
    if (auto copied = copy(std::move(*rows)); !copied) return failure(copied.error());
    return *seconds + watch.seconds();
  }

 private:
  /// In pieces of the re-mapper's size; the temporary file is removed.
  Status copy(cube::StdioTemporaryFile rows) const {
    constexpr std::uint64_t kPieceBytes = 50_MiB;
    auto output = cube::StdioTemporaryFile::create(output_);
    if (!output) return failure(output.error());
    output->keep();
    std::vector<std::byte> memory(kPieceBytes);
    const std::uint64_t bytes = loop_.count * loop_.buffer_bytes;
    for (std::uint64_t at = 0; at < bytes; at += kPieceBytes) {
      const auto piece = std::span(memory).first(std::min(kPieceBytes, bytes - at));
      Status done = rows.read(at, piece);
      if (done) done = output->append(piece);
      if (!done) return done;
    }
    return output->sync();
  }

  Runtime runtime_;
  WriteLoop loop_;
  const std::string output_;
};

Status measure_one_pass(Context& context, const WriteLoop& loop) {
  PassComparison comparison(loop, (context.directory() / "passes").string());
  const auto prepare = [&] { return comparison.prepare(); };
  const Status measured = measure_effect(
      context, {kOnePass,
                {{kStreamBaseline, prepare, [&] { return comparison.write_once(); }},
                 {"through a temporary file", prepare, [&] { return comparison.write_twice(); }}}});
  const Status removed = comparison.prepare();
  return measured ? removed : measured;
}

}  // namespace

Status bench_effects_of_streams(Context& context) {
  const std::vector<std::pair<const char*, Status (*)(Context&, const WriteLoop&)>> effects{
      {kPinning, measure_pinning}, {kAllocator, measure_allocator}, {kOnePass, measure_one_pass}};
  std::vector<Status (*)(Context&, const WriteLoop&)> wanted;
  const bool has_one_core = usable_cores().size() < 2;
  for (const auto& [id, measure] : effects) {
    if (!context.is_selected(id)) continue;
    if (has_one_core) {
      context.skip(id, "two cores are required, for computing and copying");
    } else {
      wanted.push_back(measure);
    }
  }
  if (wanted.empty()) return {};
  const auto loop = make_loop(context);
  if (!loop) return failure(loop.error());
  for (const auto measure : wanted) {
    if (auto measured = measure(context, *loop); !measured) return measured;
  }
  return {};
}

}  // namespace forebay::bench::engine
