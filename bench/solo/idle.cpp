// SPDX-License-Identifier: Apache-2.0
// Cost of idle agents: processor time of all threads but this one, with open sessions.
#include <chrono>
#include <thread>

#include "bench/frame/clock.hpp"
#include "bench/solo/solo.hpp"

namespace forebay::bench::solo {

namespace {

/// Fraction of one core that this process used while its main thread slept.
Result<double> idle_share(std::chrono::milliseconds pause) {
  const double cpu_before = process_cpu_seconds();
  const Stopwatch watch;
  std::this_thread::sleep_for(pause);
  return (process_cpu_seconds() - cpu_before) / watch.seconds();
}

}  // namespace

Status bench_idle(Context& context) {
  if (!context.is_selected("solo.idle_cpu")) return {};
  auto path = context.word_file(64_MiB);
  if (!path) return failure(path.error());
  Runtime runtime;
  auto file = runtime.open_file(path->string());
  if (!file) return failure(file.error());
  // One session of each kind, after readahead is complete. Taking data would give them more work.
  auto buffered = file->read_session({}, {.access = Access::kBuffered});
  auto direct = file->read_session({}, {.access = Access::kDirect});
  if (!buffered) return failure(buffered.error());
  if (!direct) return failure(direct.error());
  const auto pause = std::chrono::milliseconds(context.choose(2000, 500));
  std::this_thread::sleep_for(pause / 4);
  auto rounds = context.run("solo.idle_cpu", 5, {{"idle", {}, [&] { return idle_share(pause); }}});
  if (!rounds) return failure(rounds.error());
  context.add({.id = "solo.idle_cpu",
               .unit = "cores",
               .measured = rounds->summary("idle"),
               .goal = Goal{0.001},
               .peers = {}});
  return {};
}

}  // namespace forebay::bench::solo
