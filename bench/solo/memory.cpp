// SPDX-License-Identifier: Apache-2.0
// Memory that a session really takes while 4 GiB pass through it: the peak of Pss over that of the
// same run without.
#include <vector>

#include "bench/frame/peak_memory.hpp"
#include "bench/solo/solo.hpp"
#include "tools/probe/page_cache.hpp"

namespace forebay::bench::solo {

namespace {

constexpr double kMebibyte = 1024.0 * 1024.0;
constexpr std::uint64_t kTasks = 65536;

/// The peak of Pss, in MiB, while `work` runs.
Result<double> peak_of(const std::function<Status()>& work) {
  auto peak = PeakMemory::start();
  if (!peak) return tl::unexpected<Error>(peak.error());
  if (auto done = work(); !done) return tl::unexpected<Error>(done.error());
  return static_cast<double>((*peak)->stop()) / kMebibyte;
}

/// The same tasks, one after the other through one buffer of a task's size: the program without a
/// session.
Status read_plainly(const Cut& cut) {
  std::vector<std::byte> buffer(cut.task_bytes());
  auto seconds = time_pread(cut, buffer);
  if (!seconds) return tl::unexpected<Error>(seconds.error());
  return {};
}

Status read_by_session(const Cut& cut) {
  Runtime runtime;
  auto seconds = time_session(runtime, cut);
  if (!seconds) return tl::unexpected<Error>(seconds.error());
  return {};
}

}  // namespace

Status bench_memory(Context& context) {
  if (!context.wants("solo.memory_mib")) return {};
  const std::uint64_t file_bytes = context.choose(4_GiB, 256_MiB);
  auto path = context.word_file(file_bytes);
  if (!path) return tl::unexpected<Error>(path.error());
  const Cut cut{.path = *path, .file_bytes = file_bytes, .task_count = kTasks};
  const auto cold = [&] { return probe::drop_cached(*path); };
  auto rounds =
      context.run("solo.memory_mib", 5,
                  {{"forebay", cold, [&] { return peak_of([&] { return read_by_session(cut); }); }},
                   {"plain", cold, [&] { return peak_of([&] { return read_plainly(cut); }); }}});
  if (!rounds) return tl::unexpected<Error>(rounds.error());
  context.add({.id = "solo.memory_mib",
               .unit = "MiB",
               .measured = rounds->difference("forebay", "plain"),
               .goal = Goal{96},
               .peers = {{"whole process", "MiB", rounds->summary("forebay")},
                         {"without a session", "MiB", rounds->summary("plain")}}});
  return {};
}

}  // namespace forebay::bench::solo
