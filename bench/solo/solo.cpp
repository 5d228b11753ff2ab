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

Result<double> time_pread(const FilePartition& partition, std::span<std::byte> memory) {
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
  if (auto done = group.run(partition.threads); !done) return failure(done.error());
  return watch.seconds();
}

Result<double> time_blocking_session(Runtime& runtime, const FilePartition& partition) {
  auto file = runtime.open_file(partition.path.string());
  if (!file) return failure(file.error());
  const Stopwatch watch;
  auto session = file->read_session({0, partition.file_bytes});
  if (!session) return failure(session.error());
  for (std::uint64_t task = 0; task < partition.task_count; ++task) {
    const ByteRange slice = partition.slice(task);
    const auto view = session->view(slice).wait();
    if (!view) return failure(view.error());
    if (Status touched = verify_words(view->bytes(), slice.offset); !touched)
      return failure(touched.error());
  }
  return watch.seconds();
}

Result<double> time_session(Runtime& runtime, const FilePartition& partition) {
  auto file = runtime.open_file(partition.path.string());
  if (!file) return failure(file.error());
  runner::TaskGroup group(runtime.event_loop());
  const Stopwatch watch;
  auto session = file->read_session({0, partition.file_bytes});
  if (!session) return failure(session.error());
  for (std::uint64_t task = 0; task < partition.task_count; ++task)
    group.spawn(view_task(*session, partition.slice(task)));
  if (auto done = group.run(partition.threads); !done) return failure(done.error());
  return watch.seconds();
}

}  // namespace forebay::bench::solo

namespace forebay::bench {

FOREBAY_BENCHMARK(solo, "many tasks of one process read one file, without MPI") {
  using Part = Status (*)(Context&);
  const std::initializer_list<Part> parts = {solo::bench_bandwidth, solo::bench_requests,
                                             solo::bench_memory,    solo::bench_blocks,
                                             solo::bench_streams,   solo::bench_idle};
  for (const Part part : parts) {
    if (auto done = part(context); !done) return done;
  }
  return {};
}

}  // namespace forebay::bench
