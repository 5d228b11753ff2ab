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
Result<double> peak_of(const std::function<Status()>& work) {
  const pid_t child = ::fork();
  if (child < 0) return failure(system_error({.operation = "fork"}, errno));
  if (child == 0) {
    const Status done = work();
    ::_exit(done ? 0 : 1);
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

/// The same tasks, one at a time through one buffer of a task's size: the program without a
/// session.
Status read_with_pread(const FilePartition& partition) {
  std::vector<std::byte> buffer(partition.task_bytes());
  auto seconds = time_pread(partition, buffer);
  if (!seconds) return failure(seconds.error());
  return {};
}

Status read_with_session(const FilePartition& partition) {
  Runtime runtime;
  auto seconds = time_session(runtime, partition);
  if (!seconds) return failure(seconds.error());
  return {};
}

}  // namespace

Status bench_memory(Context& context) {
  if (!context.is_selected("solo.memory_mib")) return {};
  const std::uint64_t file_bytes = context.choose(4_GiB, 256_MiB);
  auto path = context.word_file(file_bytes);
  if (!path) return failure(path.error());
  const FilePartition partition{.path = *path, .file_bytes = file_bytes, .task_count = kIdleTasks};
  const auto cold = [&] { return probe::drop_cached(*path); };
  auto rounds = context.run(
      "solo.memory_mib", 5,
      {{"forebay", cold, [&] { return peak_of([&] { return read_with_session(partition); }); }},
       {"plain", cold, [&] { return peak_of([&] { return read_with_pread(partition); }); }}});
  if (!rounds) return failure(rounds.error());
  context.add({.id = "solo.memory_mib",
               .unit = "MiB",
               .measured = rounds->difference("forebay", "plain"),
               .goal = Goal{96},
               .peers = {{"whole process", "MiB", rounds->summary("forebay")},
                         {"without a session", "MiB", rounds->summary("plain")}}});
  return {};
}

}  // namespace forebay::bench::solo
