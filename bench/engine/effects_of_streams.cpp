// SPDX-License-Identifier: Apache-2.0
// What is worth something to a program that computes and writes behind: where its threads run,
// buffers that are used again, and bytes that are written once.
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "bench/cube/temporary_file.hpp"
#include "bench/engine/effects.hpp"
#include "bench/engine/engine.hpp"
#include "bench/engine/gain.hpp"
#include "bench/frame/clock.hpp"
#include "bench/frame/cores.hpp"
#include "storage/file.hpp"

namespace forebay::bench::engine {

namespace {

namespace fs = std::filesystem;

constexpr const char* kPinning = "engine.effect.pinning";
constexpr const char* kAllocator = "engine.effect.allocator";
constexpr const char* kOnePass = "engine.effect.one_pass";
constexpr const char* kStreamAsItIs = "as it is";

/// A stream writes through the page cache, where writing takes a processor, behind a computation
/// that takes as long.
Result<Loop> make_loop(Context& context) {
  const auto place = Place::local(context, Access::kBuffered);
  const auto write_s = write_seconds(*place, 16_MiB);
  if (!write_s) return failure(write_s.error());
  const std::uint64_t count = context.choose<std::uint64_t>(32, 4);
  const auto paths = place->files(count * 16_MiB);
  if (!paths) return failure(paths.error());
  return Loop{.paths = {paths->front()},
              .access = place->access(),
              .buffer_bytes = 16_MiB,
              .count = count,
              .computation = Computation::lasting(*write_s)};
}

/// The time of the loop, by whatever cores the calling thread may use.
Result<double> time_loop(Runtime& runtime, const Loop& loop, BufferMemory memory) {
  return run_with_forebay(runtime, loop, {.memory = memory}).map(&LoopTimes::total_s);
}

/// The same while the computation is bound to a core, as launchers of programs do it.
Result<double> time_bound(Runtime& runtime,
                          const Loop& loop,
                          BufferMemory memory = BufferMemory::kKept) {
  const auto here = OnCore::take(usable_cores().front());
  if (!here) return failure(here.error());
  return time_loop(runtime, loop, memory);
}

/// Threads of a Runtime's stay where the first file found its thread, so each has one of its own.
Status show_pinning(Context& context, const Loop& loop) {
  Runtime apart;
  Runtime anywhere({.writer_cores = WriterCores::kAnywhere});
  Runtime unbound;
  return show_effect(
      context,
      {kPinning,
       {{kStreamAsItIs, {}, [&] { return time_bound(apart, loop); }},
        {"copying on the computation's core", {}, [&] { return time_bound(anywhere, loop); }},
        {"nothing bound", {}, [&] { return time_loop(unbound, loop, BufferMemory::kKept); }}}});
}

Status show_allocator(Context& context, const Loop& loop) {
  Runtime runtime;
  const auto timed = [&](BufferMemory memory) {
    return [&runtime, &loop, memory] { return time_bound(runtime, loop, memory); };
  };
  return show_effect(context, {kAllocator,
                               {{kStreamAsItIs, {}, timed(BufferMemory::kKept)},
                                {"fresh memory", {}, timed(BufferMemory::kFresh)}}});
}

/// Writing `output` to the end of fsync, in one pass and in two.
class Passes {
 public:
  Passes(Loop loop, std::string output) : loop_(std::move(loop)), output_(std::move(output)) {}

  Status prepare() const {
    std::error_code failed;
    fs::remove(output_, failed);
    return {};
  }

  Result<double> write_once() {
    loop_.paths = {output_};
    const auto seconds = time_bound(runtime_, loop_);
    if (!seconds) return seconds;
    const Stopwatch watch;
    auto file = storage::open_file(output_, {.intent = storage::Intent::kWrite});
    if (!file) return failure(file.error());
    if (auto synced = (*file)->sync(); !synced) return failure(synced.error());
    return *seconds + watch.seconds();
  }

  Result<double> write_twice() {
    auto rows = cube::TemporaryFile::create(output_ + ".rows");
    if (!rows) return failure(rows.error());
    loop_.paths = {rows->path()};
    const auto seconds = time_bound(runtime_, loop_);
    if (!seconds) return seconds;
    const Stopwatch watch;
    if (auto copied = copy(std::move(*rows)); !copied) return failure(copied.error());
    return *seconds + watch.seconds();
  }

 private:
  /// In pieces as long as the re-mapper's; what was copied is removed.
  Status copy(cube::TemporaryFile rows) const {
    constexpr std::uint64_t kPieceBytes = 50_MiB;
    auto output = cube::TemporaryFile::create(output_);
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
  Loop loop_;
  const std::string output_;
};

Status show_one_pass(Context& context, const Loop& loop) {
  Passes passes(loop, (context.folder() / "passes").string());
  const auto prepare = [&] { return passes.prepare(); };
  const Status shown = show_effect(
      context, {kOnePass,
                {{kStreamAsItIs, prepare, [&] { return passes.write_once(); }},
                 {"through a temporary file", prepare, [&] { return passes.write_twice(); }}}});
  const Status removed = passes.prepare();
  return shown ? removed : shown;
}

}  // namespace

Status bench_effects_of_streams(Context& context) {
  const std::vector<std::pair<const char*, Status (*)(Context&, const Loop&)>> effects{
      {kPinning, show_pinning}, {kAllocator, show_allocator}, {kOnePass, show_one_pass}};
  std::vector<Status (*)(Context&, const Loop&)> wanted;
  const bool is_alone = usable_cores().size() < 2;
  for (const auto& [id, show] : effects) {
    if (!context.wants(id)) continue;
    if (is_alone) {
      context.leave_out(id, "computing and copying need a core each");
    } else {
      wanted.push_back(show);
    }
  }
  if (wanted.empty()) return {};
  const auto loop = make_loop(context);
  if (!loop) return failure(loop.error());
  for (const auto show : wanted) {
    if (auto shown = show(context, *loop); !shown) return shown;
  }
  return {};
}

}  // namespace forebay::bench::engine
