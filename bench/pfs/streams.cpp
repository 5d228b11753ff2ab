// SPDX-License-Identifier: Apache-2.0
// pfs.streams: a thousand awaitable streams on one thread. Each reads its part of a file in
// records, from a storage that takes 5 ms for each request and serves 16 concurrently. The ideal is
// that storage with 16 requests in flight all the time.
#include <forebay/istream.hpp>
#include <forebay/runtime.hpp>

#include <algorithm>
#include <cerrno>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "base/descriptor.hpp"
#include "bench/frame/clock.hpp"
#include "bench/pfs/mounted_file.hpp"
#include "runner/task.hpp"

namespace forebay::bench::pfs {

namespace {

constexpr std::uint64_t kStreams = 1000;
constexpr std::size_t kStreamRecordBytes = 4096;

runner::Task stream_task(Session session, ByteRange part) {
  AsyncInputStream stream(std::move(session), part);
  std::vector<std::byte> record(kStreamRecordBytes);
  while (!stream.eof()) {
    const std::uint64_t at = part.offset + stream.tellg();
    const Result<ByteCount> got = co_await stream.read(record);
    if (!got) co_return failure(got.error());
    if (auto touched = verify_words(std::span(record).first(*got), at); !touched) co_return touched;
  }
  co_return Status();
}

Result<double> time_streams(Runtime& runtime, const FilePartition& partition) {
  const auto file = runtime.open_file(partition.path.string());
  if (!file) return failure(file.error());
  runner::TaskGroup group(runtime.event_loop());
  const Stopwatch watch;
  const auto session = file->read_session();
  if (!session) return failure(session.error());
  for (std::uint64_t task = 0; task < partition.task_count; ++task)
    group.spawn(stream_task(*session, partition.slice(task)));
  if (auto done = group.run(); !done) return failure(done.error());
  return watch.seconds();
}

/// One part after the other: a program with one thread and no session.
Result<double> time_preads(const FilePartition& partition) {
  std::vector<std::byte> record(kStreamRecordBytes);
  const Stopwatch watch;
  const Descriptor file(::open(partition.path.c_str(), O_RDONLY | O_CLOEXEC));
  for (std::uint64_t at = 0; at < partition.file_bytes;) {
    const ssize_t got = ::pread(file.get(), record.data(), record.size(), static_cast<off_t>(at));
    if (got <= 0) {
      return failure(
          system_error({.operation = "pread", .path = partition.path.string(), .offset_bytes = at},
                       got == 0 ? EIO : errno));
    }
    const auto bytes = std::span(record).first(static_cast<std::size_t>(got));
    if (auto touched = verify_words(bytes, at); !touched) return failure(touched.error());
    at += bytes.size();
  }
  return watch.seconds();
}

/// Time of requests of the machine's maximum size: their latencies at its concurrency, or the
/// transfer of their bytes, whichever is longer.
double ideal_seconds(const MountedFile& mounted_file) {
  constexpr double kMicrosecond = 1e-6;
  const model::ServerGroup& server = mounted_file.machine().servers.front();
  const std::uint64_t request_bytes = mounted_file.machine().client.request_bytes_max;
  const std::uint64_t requests = (mounted_file.file_bytes() + request_bytes - 1) / request_bytes;
  const double waiting_s =
      static_cast<double>(requests) * server.latency_us * kMicrosecond / server.concurrency;
  return std::max(waiting_s, mounted_file.lower_bound_s(mounted_file.file_bytes()));
}

}  // namespace

Status bench_streams(Context& context) {
  // The length of a part is not a multiple of a record or request, so streams begin and end
  // anywhere.
  const std::uint64_t part_bytes =
      context.choose<std::uint64_t>({.quick = 66'048, .usual = 264'000, .full = 1'056'000});
  const auto mounted_file = MountedFile::make(context, {.machine = "nfs", .arguments = {}},
                                              context.word_file(kStreams * part_bytes).value());
  const FilePartition partition = mounted_file->partition(kStreams);
  Runtime runtime;
  const double ideal_s = ideal_seconds(*mounted_file);
  const auto over_ideal = [ideal_s](const Rounds& rounds) {
    std::vector<double> values = rounds.values("forebay");
    for (double& value : values)
      value /= ideal_s;
    return summarize(values);
  };
  return context.compare(
      {.rows = {{"pfs.streams", over_ideal, Goal{1.2}}},
       .variants = {{"forebay", mounted_file->drop_cache(),
                     [&] { return time_streams(runtime, partition); }},
                    {"pread of 4 KiB", mounted_file->drop_cache(),
                     [&] { return time_preads(partition); }}},
       .more_peers = {{"ideal", "s", [=](const auto&) { return summarize({ideal_s}); }}}});
}

}  // namespace forebay::bench::pfs
