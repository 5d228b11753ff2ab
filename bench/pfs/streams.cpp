// SPDX-License-Identifier: Apache-2.0
// pfs.streams: a thousand awaitable streams on one thread, each of which reads its part of a file
// in records one after the other, over a storage that takes 5 ms for each request and 16 of them at
// once. The ideal is that storage with 16 requests under way from the first moment to the last.
#include <forebay/istream.hpp>
#include <forebay/runtime.hpp>

#include <algorithm>
#include <cerrno>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "base/descriptor.hpp"
#include "bench/frame/clock.hpp"
#include "bench/pfs/site.hpp"
#include "runner/task.hpp"

namespace forebay::bench::pfs {

namespace {

constexpr std::uint64_t kStreams = 1000;
constexpr std::size_t kStreamRecordBytes = 4096;

runner::Task stream_task(Session session, ByteRange part) {
  AsyncStream stream(std::move(session), part);
  std::vector<std::byte> record(kStreamRecordBytes);
  while (!stream.eof()) {
    const std::uint64_t at = part.offset + stream.tellg();
    const Result<ByteCount> got = co_await stream.read(record);
    if (!got) co_return failure(got.error());
    if (auto touched = touch(std::span(record).first(*got), at); !touched) co_return touched;
  }
  co_return Status();
}

Result<double> time_streams(Runtime& runtime, const Cut& cut) {
  const auto file = runtime.open(cut.path.string());
  if (!file) return failure(file.error());
  runner::TaskGroup group(runtime.loop());
  const Stopwatch watch;
  const auto session = file->read_session();
  if (!session) return failure(session.error());
  for (std::uint64_t task = 0; task < cut.task_count; ++task)
    group.spawn(stream_task(*session, cut.slice(task)));
  if (auto done = group.run(); !done) return failure(done.error());
  return watch.seconds();
}

/// One part after the other, as a program reads that has one thread and no session.
Result<double> time_preads(const Cut& cut) {
  std::vector<std::byte> record(kStreamRecordBytes);
  const Stopwatch watch;
  const Descriptor file(::open(cut.path.c_str(), O_RDONLY | O_CLOEXEC));
  for (std::uint64_t at = 0; at < cut.file_bytes;) {
    const ssize_t got = ::pread(file.get(), record.data(), record.size(), static_cast<off_t>(at));
    if (got <= 0) {
      return failure(
          system_error({.operation = "pread", .path = cut.path.string(), .offset_bytes = at},
                       got == 0 ? EIO : errno));
    }
    const auto bytes = std::span(record).first(static_cast<std::size_t>(got));
    if (auto touched = touch(bytes, at); !touched) return failure(touched.error());
    at += bytes.size();
  }
  return watch.seconds();
}

/// Of requests as long as the machine takes them: their latencies, as many at a time as it serves,
/// or their bytes, whichever is longer.
double ideal_s(const Site& site) {
  constexpr double kMicrosecond = 1e-6;
  const model::ServerGroup& server = site.machine().servers.front();
  const std::uint64_t request_bytes = site.machine().client.request_bytes_max;
  const std::uint64_t requests = (site.file_bytes() + request_bytes - 1) / request_bytes;
  const double waiting_s =
      static_cast<double>(requests) * server.latency_us * kMicrosecond / server.concurrency;
  return std::max(waiting_s, site.limit_s(site.file_bytes()));
}

/// In each round.
Summary over(const std::vector<double>& seconds, double ideal_s) {
  return summarise(ratios(seconds, std::vector<double>(seconds.size(), ideal_s)));
}

}  // namespace

Status bench_streams(Context& context) {
  const std::string id = "pfs.streams";
  if (!context.wants(id)) return {};
  // A part is no whole number of records or requests, so that streams begin and end anywhere.
  const std::uint64_t part_bytes =
      context.choose<std::uint64_t>({.quick = 66'048, .usual = 264'000, .full = 1'056'000});
  const auto words = context.word_file(kStreams * part_bytes);
  if (!words) return failure(words.error());
  const auto site = Site::make(context, {.machine = "nfs", .words = {}}, *words);
  if (!site) return failure(site.error());
  const Cut cut = (*site)->cut(kStreams);
  Runtime runtime;
  const auto rounds =
      context.run(id, kRounds,
                  {{"forebay", (*site)->cold(), [&] { return time_streams(runtime, cut); }},
                   {"pread", (*site)->cold(), [&] { return time_preads(cut); }}});
  if (!rounds) return failure(rounds.error());
  const double ideal = ideal_s(**site);
  context.add({.id = id,
               .unit = "1",
               .measured = over(rounds->values("forebay"), ideal),
               .goal = Goal{1.2},
               .peers = {{"forebay", "s", rounds->summary("forebay")},
                         {"ideal", "s", summarise({ideal})},
                         {"pread of 4 KiB", "s", rounds->summary("pread")}}});
  return {};
}

}  // namespace forebay::bench::pfs
