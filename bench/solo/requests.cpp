// SPDX-License-Identifier: Apache-2.0
// What one request costs when data is small: 16384 tasks of 1 KiB in 16 MiB. Tasks are plain calls
// here; a coroutine frame would cost more than what is measured.
#include <fcntl.h>
#include <unistd.h>

#include "base/descriptor.hpp"
#include "bench/frame/clock.hpp"
#include "bench/solo/solo.hpp"
#include "tools/probe/page_cache.hpp"

namespace forebay::bench::solo {

namespace {

constexpr std::uint64_t kFileBytes = 16_MiB;
constexpr std::uint64_t kRequestingTasks = 16384;
constexpr double kMicroseconds = 1e6;
/// One pass over resident data takes a millisecond; several of them make a sample.
constexpr int kPasses = 20;

/// Each task gets a view and touches its lines.
Status visit_all(const Session& session, const Cut& cut) {
  for (std::uint64_t task = 0; task < cut.task_count; ++task) {
    const ByteRange slice = cut.slice(task);
    Result<View> view = session.view(slice).wait();
    if (!view) return failure(view.error());
    if (auto touched = touch(view->bytes(), slice.offset); !touched) return touched;
  }
  return {};
}

/// What the request itself costs when all bytes are in the window: getting a view and giving it
/// back. Touching the bytes would time the cache, and is left to visit_all().
Result<double> time_hits(const Session& session, const Cut& cut) {
  std::uint64_t bytes = 0;
  const Stopwatch watch;
  for (int pass = 0; pass < kPasses; ++pass) {
    for (std::uint64_t task = 0; task < cut.task_count; ++task) {
      Result<View> view = session.view(cut.slice(task)).wait();
      if (!view) return failure(view.error());
      bytes += view->bytes().size();
    }
  }
  const double seconds = watch.seconds();
  if (bytes != cut.file_bytes * kPasses || session.report().splinters_reread != 0) {
    return failure({.operation = "time hits", .cause = "not all of it was in the window"});
  }
  return seconds * kMicroseconds / static_cast<double>(cut.task_count) / kPasses;
}

/// From opening the session to the last line touched.
Result<double> time_fetch(const File& file, const Cut& cut) {
  const Stopwatch watch;
  auto session = file.read_session();
  if (!session) return failure(session.error());
  if (auto done = visit_all(*session, cut); !done) return failure(done.error());
  return watch.seconds() * kMicroseconds / static_cast<double>(cut.task_count);
}

/// The peer: each task preads its KiB into its own buffer.
Result<double> time_preads(const Cut& cut, std::span<std::byte> memory) {
  const Stopwatch watch;
  const Descriptor file(::open(cut.path.c_str(), O_RDONLY | O_CLOEXEC));
  for (std::uint64_t task = 0; task < cut.task_count; ++task) {
    const ByteRange slice = cut.slice(task);
    const auto into = memory.subspan(slice.offset, slice.size);
    if (::pread(file.get(), into.data(), into.size(), static_cast<off_t>(slice.offset)) < 0) break;
    if (auto touched = touch(into, slice.offset); !touched) return failure(touched.error());
  }
  return watch.seconds() * kMicroseconds / static_cast<double>(cut.task_count);
}

}  // namespace

Status bench_requests(Context& context) {
  const bool wants_hit = context.wants("solo.hit_us");
  const bool wants_request = context.wants("solo.request_us");
  if (!wants_hit && !wants_request) return {};
  auto path = context.word_file(kFileBytes);
  if (!path) return failure(path.error());
  if (auto warmed = probe::warm(*path); !warmed) return warmed;
  const Cut cut{.path = *path, .file_bytes = kFileBytes, .task_count = kRequestingTasks};
  const auto memory = TouchedMemory::make(kFileBytes);
  if (!memory) return failure(memory.error());
  Runtime runtime;
  auto file = runtime.open(path->string());
  if (!file) return failure(file.error());
  auto cached = file->read_session(
      {0, all}, {.window_bytes = 2 * kFileBytes, .retirement = Retirement::kCache});
  if (!cached) return failure(cached.error());
  if (auto filled = visit_all(*cached, cut); !filled) return filled;

  auto rounds = context.run("solo.request_us", 9,
                            {{"hit", {}, [&] { return time_hits(*cached, cut); }},
                             {"fetch", {}, [&] { return time_fetch(*file, cut); }},
                             {"pread", {}, [&] { return time_preads(cut, memory->bytes()); }}});
  if (!rounds) return failure(rounds.error());
  const std::vector<Peer> peers = {{"pread", "us", rounds->summary("pread")}};
  if (wants_hit) context.add({"solo.hit_us", "us", rounds->summary("hit"), Goal{0.05}, peers});
  if (wants_request)
    context.add({"solo.request_us", "us", rounds->summary("fetch"), Goal{0.3}, peers});
  return {};
}

}  // namespace forebay::bench::solo
