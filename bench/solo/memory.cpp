// SPDX-License-Identifier: Apache-2.0
// Memory that a session really takes while 4 GiB pass through it: the peak of Pss over that of the
// same run without.
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

/// The peak of Pss, in MiB, of a process that does nothing but `work`: memory that earlier work of
/// this one has left in the allocator would hide what is measured.
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
                    .cause = "the process that reads has failed"});
  }
  return static_cast<double>((*peak)->stop()) / kMebibyte;
}

/// The same tasks, one after the other through one buffer of a task's size: the program without a
/// session.
Status read_plainly(const Cut& cut) {
  std::vector<std::byte> buffer(cut.task_bytes());
  auto seconds = time_pread(cut, buffer);
  if (!seconds) return failure(seconds.error());
  return {};
}

Status read_by_session(const Cut& cut) {
  Runtime runtime;
  auto seconds = time_session(runtime, cut);
  if (!seconds) return failure(seconds.error());
  return {};
}

}  // namespace

Status bench_memory(Context& context) {
  if (!context.wants("solo.memory_mib")) return {};
  const std::uint64_t file_bytes = context.choose(4_GiB, 256_MiB);
  auto path = context.word_file(file_bytes);
  if (!path) return failure(path.error());
  const Cut cut{.path = *path, .file_bytes = file_bytes, .task_count = kIdleTasks};
  const auto cold = [&] { return probe::drop_cached(*path); };
  auto rounds =
      context.run("solo.memory_mib", 5,
                  {{"forebay", cold, [&] { return peak_of([&] { return read_by_session(cut); }); }},
                   {"plain", cold, [&] { return peak_of([&] { return read_plainly(cut); }); }}});
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
