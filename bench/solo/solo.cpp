// SPDX-License-Identifier: Apache-2.0
// One process, many tasks, one file: sessions compared with programs that use pread and ifstream.
#include "bench/solo/solo.hpp"

#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

#include "base/descriptor.hpp"
#include "bench/frame/clock.hpp"
#include "runner/task.hpp"

namespace forebay::bench::solo {

namespace {

runner::Task pread_task(int descriptor, ByteRange slice, std::span<std::byte> into) {
  const auto got = ::pread(descriptor, into.data(), slice.size, static_cast<off_t>(slice.offset));
  if (got != static_cast<ssize_t>(slice.size)) {
    co_return failure(system_error({.operation = "pread", .offset_bytes = slice.offset}, errno));
  }
  co_return verify_words(into, slice.offset);
}

runner::Task view_task(const Session& session, ByteRange slice) {
  Result<View> view = co_await session.view(slice);
  if (!view) co_return failure(view.error());
  co_return verify_words(view->bytes(), slice.offset);
}

}  // namespace

double time_pread(const FilePartition& partition, std::span<std::byte> memory) {
  EventLoop loop;
  runner::TaskGroup group(loop);
  const Stopwatch watch;
  const Descriptor file(::open(partition.path.c_str(), O_RDONLY | O_CLOEXEC));
  const bool shared = memory.size() == partition.task_bytes();
  for (std::uint64_t task = 0; task < partition.task_count; ++task) {
    const ByteRange slice = partition.slice(task);
    const std::uint64_t place = shared ? 0 : slice.offset;
    group.spawn(pread_task(file.get(), slice, memory.subspan(place, slice.size)));
  }
  check(group.run(partition.threads));
  return watch.seconds();
}

double time_blocking_session(Runtime& runtime, const FilePartition& partition) {
  const auto file = runtime.open_file(partition.path.string()).value();
  const Stopwatch watch;
  const auto session = file.read_session({0, partition.file_bytes}).value();
  for (std::uint64_t task = 0; task < partition.task_count; ++task) {
    const ByteRange slice = partition.slice(task);
    check(verify_words(session.view(slice).wait().value().bytes(), slice.offset));
  }
  return watch.seconds();
}

double time_session(Runtime& runtime, const FilePartition& partition) {
  const auto file = runtime.open_file(partition.path.string()).value();
  runner::TaskGroup group(runtime.event_loop());
  const Stopwatch watch;
  const auto session = file.read_session({0, partition.file_bytes}).value();
  for (std::uint64_t task = 0; task < partition.task_count; ++task)
    group.spawn(view_task(session, partition.slice(task)));
  check(group.run(partition.threads));
  return watch.seconds();
}

FOREBAY_BENCHMARK(solo, "many tasks of one process read one file, without MPI") {
  return run_each(
      context,
      {{{"solo.random.over_pread", "solo.random.blocking.over_pread"}, bench_random},
       {{"solo.warm.over_pread", "solo.warm.two_threads.over_pread", "solo.cold.over_pread"},
        bench_bandwidth},
       {{"solo.hit_us", "solo.request_us"}, bench_requests},
       {{"solo.memory_mib"}, bench_memory},
       {{"solo.subarray.over_rows"}, bench_blocks},
       {{"solo.istream.over_ifstream"}, bench_istream},
       {{"solo.streams"}, bench_streams},
       {{"solo.idle_cpu"}, bench_idle}});
}

}  // namespace forebay::bench::solo
