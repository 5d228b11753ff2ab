// SPDX-License-Identifier: Apache-2.0
// Measures the gain of a second thread for a remap that computes much more than it writes. It has
// as many rows as the study's inputs, so that opening and publishing, on one thread, are
// negligible.
#include <filesystem>
#include <fstream>
#include <thread>

#include "bench/cube/cube.hpp"
#include "bench/cube/optimization_stages.hpp"
#include "bench/cube/specification.hpp"
#include "bench/frame/cpu_affinity.hpp"
#include "cube/generate.hpp"

namespace forebay::bench::cube {

namespace {

constexpr const char* kThreadsId = "cube.threads";
constexpr const char* kOne = "1 thread";
constexpr const char* kTwo = "2 threads";

Result<RemapPaths> make_task(Context& context) {
  RemapPaths task{.input = (context.directory() / "computing.cubex").string(),
                  .specification = (context.directory() / "computing.spec").string(),
                  .output = (context.directory() / "computed.cubex").string()};
  std::ofstream(task.specification) << compute_bound_specification();
  forebay::cube::GenerateOptions options{.path = task.input,
                                         .shape = {.locations = context.choose(65535U, 1023U),
                                                   .metrics = 1,
                                                   .call_paths = context.choose(614U, 56U)},
                                         .workers = std::thread::hardware_concurrency()};
  options.rows = forebay::cube::default_row_count(options.shape);
  if (auto made = forebay::cube::generate(options); !made) return failure(made.error());
  return task;
}

}  // namespace

Status bench_threads(Context& context) {
  if (!context.is_selected(kThreadsId)) return {};
  if (usable_cores().size() < 2) {
    context.skip(kThreadsId, "only one core is available");
    return {};
  }
  const auto task = make_task(context);
  if (!task) return failure(task.error());
  const auto variant = [&](const char* name, unsigned threads) {
    return Variant{name,
                   [&task]() -> Status {
                     std::filesystem::remove(task->output);
                     return {};
                   },
                   [&task, name, threads]() -> Result<double> {
                     const auto run = run_stage({name, std::nullopt, threads}, *task);
                     if (!run) return failure(run.error());
                     return run->total_s;
                   }};
  };
  const auto rounds =
      context.run(kThreadsId, context.choose(5U, 2U), {variant(kOne, 1), variant(kTwo, 2)});
  if (!rounds) return failure(rounds.error());
  context.add({.id = kThreadsId,
               .unit = "1",
               .measured = rounds->ratio(kOne, kTwo),
               .goal = Goal{1.7, Better::kHigher},
               .peers = {{kOne, "s", rounds->summary(kOne)}, {kTwo, "s", rounds->summary(kTwo)}}});
  return {};
}

}  // namespace forebay::bench::cube
