// SPDX-License-Identifier: Apache-2.0
// Memory of a session while 4 GiB pass through it: the peak of Pss minus that of the same run
// without a session.
#include <cerrno>
#include <functional>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include "bench/frame/peak_memory.hpp"
#include "bench/solo/solo.hpp"
#include "tools/probe/page_cache.hpp"

namespace forebay::bench::solo {

namespace {

constexpr double kMebibyte = 1024.0 * 1024.0;
constexpr std::uint64_t kIdleTasks = 65536;

/// The peak of Pss, in MiB, of a process that does only `work`. In this process, memory of earlier
/// work in the allocator would hide the result.
Result<double> peak_of(const std::function<void()>& work) {
  const pid_t child = ::fork();
  if (child < 0) return failure(system_error({.operation = "fork"}, errno));
  if (child == 0) {
    try {
      work();
      ::_exit(0);
    } catch (...) {
      ::_exit(1);
    }
  }
  auto peak = PeakMemory::start({child});
  int status = 0;
  const bool ended = ::waitpid(child, &status, 0) == child;
  if (!peak) return failure(peak.error());
  if (!ended || status != 0) {
    return failure({.kind = ErrorClass::kIo,
                    .operation = "measure memory",
                    .cause = "the reading process has failed"});
  }
  return static_cast<double>((*peak)->stop()) / kMebibyte;
}

}  // namespace

Status bench_memory(Context& context) {
  const std::uint64_t file_bytes = context.choose(4_GiB, 256_MiB);
  const FilePartition partition{.path = context.word_file(file_bytes).value(),
                                .file_bytes = file_bytes,
                                .task_count = kIdleTasks};
  const auto cold = [&] { return probe::drop_cached(partition.path); };
  const auto with_session = [&] {
    Runtime runtime;
    time_session(runtime, partition);
  };
  // The same tasks, one at a time through one buffer of a task's size: the program without a
  // session.
  const auto without_session = [&] {
    std::vector<std::byte> buffer(partition.task_bytes());
    time_pread(partition, buffer);
  };
  return context.compare(
      {.rows = {{"solo.memory_mib", difference_of("whole process", "without a session"), Goal{96},
                 "MiB"}},
       .variants = {{"whole process", cold, [&] { return peak_of(with_session); }},
                    {"without a session", cold, [&] { return peak_of(without_session); }}},
       .unit = "MiB"});
}

}  // namespace forebay::bench::solo
