// SPDX-License-Identifier: Apache-2.0
// A remap that computes much more than it writes: what a second thread is worth. As many rows as
// the deck's inputs have, so that opening and publishing, which one thread does, do not count.
#include <filesystem>
#include <fstream>
#include <thread>

#include "bench/cube/cube.hpp"
#include "bench/cube/rungs.hpp"
#include "bench/cube/specification.hpp"
#include "bench/frame/cores.hpp"
#include "cube/generate.hpp"

namespace forebay::bench::cube {

namespace {

constexpr const char* kThreadsId = "cube.threads";
constexpr const char* kOne = "1 thread";
constexpr const char* kTwo = "2 threads";

Result<Task> make_task(Context& context) {
  Task task{.input = (context.folder() / "computing.cubex").string(),
            .specification = (context.folder() / "computing.spec").string(),
            .output = (context.folder() / "computed.cubex").string()};
  std::ofstream(task.specification) << computing_specification();
  forebay::cube::GenerateOptions options{.path = task.input,
                                         .shape = {.locations = context.choose(65535U, 1023U),
                                                   .metrics = 1,
                                                   .call_paths = context.choose(614U, 56U)},
                                         .workers = std::thread::hardware_concurrency()};
  options.rows = forebay::cube::usual_rows(options.shape);
  if (auto made = forebay::cube::generate(options); !made) return failure(made.error());
  return task;
}

}  // namespace

Status bench_threads(Context& context) {
  if (!context.wants(kThreadsId)) return {};
  if (usable_cores().size() < 2) {
    context.leave_out(kThreadsId, "there is one core only");
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
                     const auto run = run_rung({name, std::nullopt, threads}, *task);
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
