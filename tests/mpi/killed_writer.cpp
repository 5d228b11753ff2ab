// SPDX-License-Identifier: Apache-2.0
// killed_writer: ranks that write the steps of a dataset until one of them is killed. Usage, by a
// launcher: killed_writer PATH CONTENTS STRATEGY MARKS. In the directory MARKS each rank creates
// rank-RANK-PROCESS when it writes, and the first rank durable-STEP for each receipt.
// killed_writers_test.cpp kills, and checks what is left. The launcher ends the ranks that survive.
#include <forebay/mpi.hpp>
#include <forebay/runtime.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <span>
#include <string>

#include <mpi.h>
#include <unistd.h>

#include "tests/faults/datasets/test_contents.hpp"

namespace forebay::faults {
namespace {

constexpr std::chrono::milliseconds kDeadline{3000};

WritePlan plan_named(const std::string& strategy) {
  WritePlan plan{.strategy = parse_strategy(strategy).value_or(Strategy::kAuto)};
  // Of four ranks two write, each its own file, so that all roles exist.
  if (plan.strategy == Strategy::kReducedBlocking) plan.writers = plan.files = 2;
  plan.tuning.unit_bytes = 1_MiB;
  plan.memory_bytes = 4_MiB;
  plan.steps_in_flight = 2;
  plan.retained_steps = 3;
  plan.step_timeout = kDeadline;
  return plan;
}

/// Launchers mix the output of ranks, so each rank reports by files.
void mark(const std::string& path) { std::ofstream(path).flush(); }

int write_until_killed(std::span<char*> words) {
  const std::string marks = words[4];
  const TestContents contents(std::strtoull(words[2], nullptr, 10));
  Runtime runtime(MPI_COMM_WORLD);
  auto dataset = runtime.create_dataset(words[1], {.plan = plan_named(words[3])});
  if (!dataset) {
    std::fprintf(stderr, "killed_writer: %s\n", dataset.error().message().c_str());
    return 1;
  }
  mark(marks + "/rank-" + std::to_string(runtime.rank()) + "-" + std::to_string(::getpid()));
  for (std::uint64_t step = dataset->newest_step().value_or(0) + 1;; ++step) {
    const auto receipt = write_step(runtime, *dataset, contents, step);
    if (!receipt) return 1;
    if (runtime.rank() == 0) mark(marks + "/durable-" + std::to_string(step));
  }
}

}  // namespace
}  // namespace forebay::faults

int main(int argc, char** argv) {
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  const std::span words(argv, static_cast<std::size_t>(argc));
  const int outcome = words.size() == 5 ? forebay::faults::write_until_killed(words) : 2;
  // A rank is missing, so MPI_Finalize() would not return.
  std::_Exit(outcome);
}
