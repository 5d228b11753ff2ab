// SPDX-License-Identifier: Apache-2.0
// Optimizations for a program that computes and writes behind: placement of threads, reuse of
// buffers, and writing bytes once.
#include <filesystem>
#include <span>
#include <vector>

#include "bench/cube/stdio_temporary_file.hpp"
#include "bench/engine/engine.hpp"
#include "bench/engine/gain.hpp"
#include "bench/frame/clock.hpp"
#include "bench/frame/cpu_affinity.hpp"
#include "storage/file.hpp"

namespace forebay::bench::engine {

namespace {

namespace fs = std::filesystem;

/// The time of the loop on the cores that the calling thread may use.
double time_loop(Runtime& runtime, const WriteLoop& loop, BufferMemory memory) {
  return run_with_forebay(runtime, loop, {.memory = memory}).total_s;
}

/// The same with the computation pinned to a core, as program launchers do.
double time_pinned_loop(Runtime& runtime,
                        const WriteLoop& loop,
                        BufferMemory memory = BufferMemory::kReused) {
  const auto affinity = ScopedAffinity::pin(usable_cores().front()).value();
  return time_loop(runtime, loop, memory);
}

/// Threads of a Runtime keep the affinity of the first file's opener, so each variant has a
/// separate Runtime.
Status measure_pinning(Context& context, const WriteLoop& loop) {
  Runtime separate_cores;
  Runtime any_core({.tuning = {.write_thread_affinity = WriteThreadAffinity::kInherited}});
  Runtime unbound;
  const std::string copying = "copying on the computation's core";
  return context.compare(
      {.rows = {{"engine.effect.pinning", ratio_of(copying, kBaseline)}},
       .rounds = effect_rounds(context),
       .variants = {{kBaseline, {}, [&] { return time_pinned_loop(separate_cores, loop); }},
                    {copying, {}, [&] { return time_pinned_loop(any_core, loop); }},
                    {"nothing bound", {}, [&] {
                       return time_loop(unbound, loop, BufferMemory::kReused);
                     }}}});
}

Status measure_allocator(Context& context, const WriteLoop& loop) {
  Runtime runtime;
  const auto timed = [&](BufferMemory memory) {
    return [&runtime, &loop, memory] { return time_pinned_loop(runtime, loop, memory); };
  };
  return context.compare(
      {.rows = {{"engine.effect.allocator", ratio_of("fresh memory", kBaseline)}},
       .rounds = effect_rounds(context),
       .variants = {{kBaseline, {}, timed(BufferMemory::kReused)},
                    {"fresh memory", {}, timed(BufferMemory::kFresh)}}});
}

/// Copies all of a temporary file to `output`, in pieces of the re-mapper's size, and removes it.
void copy(cube::StdioTemporaryFile rows, const std::string& path, std::uint64_t bytes) {
  constexpr std::uint64_t kPieceBytes = 50_MiB;
  auto output = cube::StdioTemporaryFile::create(path).value();
  output.keep();
  std::vector<std::byte> memory(kPieceBytes);
  for (std::uint64_t at = 0; at < bytes; at += kPieceBytes) {
    const auto piece = std::span(memory).first(std::min(kPieceBytes, bytes - at));
    check(rows.read(at, piece));
    check(output.append(piece));
  }
  check(output.sync());
}

/// Writes to the end of fsync, in one pass and in two.
Status measure_one_pass(Context& context, WriteLoop loop) {
  Runtime runtime;
  const std::string output = (context.directory() / "passes").string();
  const auto remove = [&output] {
    std::error_code failed;
    fs::remove(output, failed);
    return Status();
  };
  const auto write_once = [&] {
    loop.paths = {output};
    const double seconds = time_pinned_loop(runtime, loop);
    const Stopwatch watch;
    check(storage::open_file(output, {.intent = storage::Intent::kWrite}).value()->sync());
    return seconds + watch.seconds();
  };
  const auto write_twice = [&] {
    auto rows = cube::StdioTemporaryFile::create(output + ".rows").value();
    loop.paths = {rows.path()};
    const double seconds = time_pinned_loop(runtime, loop);
    const Stopwatch watch;
    copy(std::move(rows), output, loop.count * loop.buffer_bytes);
    return seconds + watch.seconds();
  };
  const Status measured = context.compare(
      {.rows = {{"engine.effect.one_pass", ratio_of("through a temporary file", kBaseline)}},
       .rounds = effect_rounds(context),
       .variants = {{kBaseline, remove, write_once},
                    {"through a temporary file", remove, write_twice}}});
  check(remove());
  return measured;
}

}  // namespace

/// A stream that writes through the page cache, where writing needs a processor, behind a
/// computation of the same duration.
Status bench_effects_of_streams(Context& context) {
  const auto target = WriteTarget::local(context, Access::kBuffered);
  const double write_s = write_seconds(target, 16_MiB);
  const std::uint64_t count = context.choose<std::uint64_t>(32, 4);
  const WriteLoop loop{.paths = {target.files(count * 16_MiB).front()},
                       .access = target.access,
                       .buffer_bytes = 16_MiB,
                       .count = count,
                       .computation = BufferComputation::with_duration(write_s)};
  check(measure_pinning(context, loop));
  check(measure_allocator(context, loop));
  return measure_one_pass(context, loop);
}

}  // namespace forebay::bench::engine
