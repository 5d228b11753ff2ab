// SPDX-License-Identifier: Apache-2.0
// Cost of one request of small data: 16384 tasks of 1 KiB in 16 MiB. Tasks are plain calls, because
// a coroutine frame would cost more than the request.
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
/// One pass over resident data takes a millisecond; a sample consists of several.
constexpr int kPasses = 20;

/// Each task gets a view and touches its lines.
void visit_all(const Session& session, const FilePartition& partition) {
  for (std::uint64_t task = 0; task < partition.task_count; ++task) {
    const ByteRange slice = partition.slice(task);
    check(verify_words(session.view(slice).wait().value().bytes(), slice.offset));
  }
}

/// Cost of the request when all bytes are in the window: getting a view and releasing it. Touching
/// the bytes would time the cache; visit_all() does that.
Result<double> time_hits(const Session& session, const FilePartition& partition) {
  std::uint64_t bytes = 0;
  const Stopwatch watch;
  for (int pass = 0; pass < kPasses; ++pass) {
    for (std::uint64_t task = 0; task < partition.task_count; ++task)
      bytes += session.view(partition.slice(task)).wait().value().bytes().size();
  }
  const double seconds = watch.seconds();
  if (bytes != partition.file_bytes * kPasses || session.report().splinters_reread != 0) {
    return failure({.operation = "time hits", .cause = "a splinter was not in the window"});
  }
  return seconds * kMicroseconds / static_cast<double>(partition.task_count) / kPasses;
}

/// From opening the session to the last touched line.
double time_fetch(const File& file, const FilePartition& partition) {
  const Stopwatch watch;
  visit_all(file.read_session().value(), partition);
  return watch.seconds() * kMicroseconds / static_cast<double>(partition.task_count);
}

/// The peer: each task preads its KiB into a buffer.
double time_preads(const FilePartition& partition, std::span<std::byte> memory) {
  const Stopwatch watch;
  const Descriptor file(::open(partition.path.c_str(), O_RDONLY | O_CLOEXEC));
  for (std::uint64_t task = 0; task < partition.task_count; ++task) {
    const ByteRange slice = partition.slice(task);
    const auto into = memory.subspan(slice.offset, slice.size);
    if (::pread(file.get(), into.data(), into.size(), static_cast<off_t>(slice.offset)) < 0) break;
    check(verify_words(into, slice.offset));
  }
  return watch.seconds() * kMicroseconds / static_cast<double>(partition.task_count);
}

}  // namespace

Status bench_requests(Context& context) {
  const auto path = context.word_file(kFileBytes).value();
  check(probe::warm(path));
  const FilePartition partition{
      .path = path, .file_bytes = kFileBytes, .task_count = kRequestingTasks};
  const auto memory = PrefaultedMemory::make(kFileBytes).value();
  Runtime runtime;
  const auto file = runtime.open_file(path.string()).value();
  const auto cached = file.read_session({0, kAll}, {.eviction = EvictionPolicy::kLru,
                                                    .tuning = {.window_bytes = 2 * kFileBytes}})
                          .value();
  visit_all(cached, partition);
  return context.compare(
      {.rows = {{"solo.hit_us", value_of("hit"), Goal{0.05}, "us"},
                {"solo.request_us", value_of("fetch"), Goal{0.3}, "us"}},
       .rounds = 9,
       .variants = {{"hit", {}, [&] { return time_hits(cached, partition); }},
                    {"fetch", {}, [&] { return time_fetch(file, partition); }},
                    {"pread", {}, [&] { return time_preads(partition, memory.bytes()); }}},
       .unit = "us",
       .peers = {{"pread"}}});
}

}  // namespace forebay::bench::solo
