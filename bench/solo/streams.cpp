// SPDX-License-Identifier: Apache-2.0
// Streams. A std::istream over a session is compared with std::ifstream. A thousand awaitable
// streams on one thread are compared with one task that reads everything in large direct requests.
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "base/descriptor.hpp"
#include "bench/frame/clock.hpp"
#include "bench/frame/records.hpp"
#include "bench/solo/solo.hpp"
#include "runner/task.hpp"
#include "tools/probe/page_cache.hpp"

namespace forebay::bench::solo {

namespace {

constexpr std::size_t kRecordBytes = 64;
constexpr std::uint64_t kStreams = 1000;
constexpr std::size_t kStreamReadBytes = 4096;
constexpr std::size_t kDirectReadBytes = 4_MiB;

double time_istream(Runtime& runtime, const FilePartition& partition) {
  const auto file = runtime.open_file(partition.path.string()).value();
  const Stopwatch watch;
  const auto session = file.read_session().value();
  istream stream(session);
  check(read_records<kRecordBytes>(stream, partition.file_bytes));
  return watch.seconds();
}

runner::Task stream_task(Session session, ByteRange slice) {
  AsyncInputStream stream(std::move(session), slice);
  std::vector<std::byte> buffer(kStreamReadBytes);
  while (!stream.eof()) {
    const std::uint64_t at = slice.offset + stream.tellg();
    const Result<ByteCount> got = co_await stream.read(buffer);
    if (!got) co_return failure(got.error());
    if (auto touched = verify_words(std::span(buffer).first(*got), at); !touched) co_return touched;
  }
  co_return Status();
}

double time_streams(Runtime& runtime, const FilePartition& partition) {
  const auto file = runtime.open_file(partition.path.string()).value();
  runner::TaskGroup group(runtime.event_loop());
  const Stopwatch watch;
  const auto session = file.read_session().value();
  for (std::uint64_t task = 0; task < partition.task_count; ++task)
    group.spawn(stream_task(session, partition.slice(task)));
  check(group.run());
  return watch.seconds();
}

/// One task, requests of 4 MiB one at a time, past the page cache.
Result<double> time_direct(const FilePartition& partition) {
  void* memory = nullptr;
  if (::posix_memalign(&memory, kDirectReadBytes, kDirectReadBytes) != 0) throw std::bad_alloc();
  const std::unique_ptr<void, decltype(&std::free)> owner(memory, &std::free);
  const std::span<std::byte> buffer(static_cast<std::byte*>(memory), kDirectReadBytes);
  const Descriptor file(::open(partition.path.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT));
  if (!file) {
    return failure(system_error(
        {.operation = "open for direct access", .path = partition.path.string()}, errno));
  }
  const Stopwatch watch;
  for (std::uint64_t at = 0; at < partition.file_bytes;) {
    const ssize_t got = ::pread(file.get(), buffer.data(), buffer.size(), static_cast<off_t>(at));
    if (got <= 0) {
      return failure(
          system_error({.operation = "pread with direct access", .offset_bytes = at}, errno));
    }
    check(verify_words(buffer.first(static_cast<std::size_t>(got)), at));
    at += static_cast<std::uint64_t>(got);
  }
  return watch.seconds();
}

std::uint64_t file_bytes_of(const Context& context) {
  return context.choose<std::uint64_t>({.quick = 128_MiB, .usual = 1_GiB, .full = 4_GiB});
}

}  // namespace

Status bench_istream(Context& context) {
  const std::uint64_t file_bytes = file_bytes_of(context);
  const FilePartition partition{
      .path = context.word_file(file_bytes).value(), .file_bytes = file_bytes, .task_count = 1};
  Runtime runtime;
  const auto warm = [&] { return probe::warm(partition.path); };
  return context.compare(
      {.rows = {{"solo.istream.over_ifstream", ratio_of("forebay", "std::ifstream"), Goal{0.7}}},
       .rounds = 7,
       .variants = {{"forebay", warm, [&] { return time_istream(runtime, partition); }},
                    {"std::ifstream", warm,
                     [&] { return time_ifstream<kRecordBytes>(partition.path, file_bytes); }}}});
}

Status bench_streams(Context& context) {
  // Streams end on a multiple of a record, so that every word can be verified; the last bytes of
  // the file are left out.
  const std::uint64_t file_bytes = file_bytes_of(context);
  const std::uint64_t slice = file_bytes / kStreams / kRecordBytes * kRecordBytes;
  const FilePartition partition{.path = context.word_file(file_bytes).value(),
                                .file_bytes = slice * kStreams,
                                .task_count = kStreams};
  Runtime runtime;
  const auto cold = [&] { return probe::drop_cached(partition.path); };
  return context.compare(
      {.rows = {{"solo.streams", ratio_of("forebay", "4 MiB direct reads"), Goal{1.3}}},
       .rounds = 7,
       .variants = {{"forebay", cold, [&] { return time_streams(runtime, partition); }},
                    {"4 MiB direct reads", cold, [&] { return time_direct(partition); }}}});
}

}  // namespace forebay::bench::solo
