// SPDX-License-Identifier: Apache-2.0
// Cost of idle agents: processor time of all threads but this one, with open sessions.
#include <chrono>
#include <thread>

#include "bench/frame/clock.hpp"
#include "bench/solo/solo.hpp"

namespace forebay::bench::solo {

namespace {

/// Fraction of one core that this process used while its main thread slept.
double idle_share(std::chrono::milliseconds pause) {
  const double cpu_before = process_cpu_seconds();
  const Stopwatch watch;
  std::this_thread::sleep_for(pause);
  return (process_cpu_seconds() - cpu_before) / watch.seconds();
}

}  // namespace

Status bench_idle(Context& context) {
  const auto path = context.word_file(64_MiB).value();
  Runtime runtime;
  const auto file = runtime.open_file(path.string()).value();
  // One session of each kind, after readahead is complete. Taking data would give them more work.
  const auto buffered = file.read_session({}, {.access = Access::kBuffered}).value();
  const auto direct = file.read_session({}, {.access = Access::kDirect}).value();
  const auto pause = std::chrono::milliseconds(context.choose(2000, 500));
  std::this_thread::sleep_for(pause / 4);
  return context.compare({.rows = {{"solo.idle_cpu", value_of("idle"), Goal{0.001}, "cores"}},
                          .variants = {{"idle", {}, [&] { return idle_share(pause); }}},
                          .peers = {{}}});
}

}  // namespace forebay::bench::solo
