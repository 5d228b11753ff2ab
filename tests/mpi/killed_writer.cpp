// SPDX-License-Identifier: Apache-2.0
// killed_writer: ranks that write one step of a dataset after the other until one of them is
// killed. Usage, by a launcher: killed_writer PATH CONTENTS STRATEGY MARKS. In the folder MARKS
// each rank makes rank-<rank>-<its process> when it writes, and the first one durable-<step> with
// each receipt. killed_writers_test.cpp kills, and looks at what is left; the
// launcher ends those who live longer.
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

#include "tests/faults/datasets/cargo.hpp"

namespace forebay::faults {
namespace {

constexpr std::chrono::milliseconds kDeadline{3000};

WritePlan plan_named(const std::string& strategy) {
  WritePlan plan{.strategy = strategy_named(strategy).value_or(Strategy::kAuto)};
  // Of four ranks two write, each a file, so that there are all roles.
  if (plan.strategy == Strategy::kReducedBlocking) plan.writers = plan.files = 2;
  plan.unit_bytes = 1_MiB;
  plan.memory_bytes = 4_MiB;
  plan.steps_in_flight = 2;
  plan.keep = 3;
  plan.deadline = kDeadline;
  return plan;
}

/// Launchers mix what ranks say: so they say it by files.
void mark(const std::string& path) { std::ofstream(path).flush(); }

int write_until_killed(std::span<char*> words) {
  const std::string marks = words[4];
  const Cargo cargo(std::strtoull(words[2], nullptr, 10));
  Runtime runtime(MPI_COMM_WORLD);
  auto dataset = runtime.dataset(words[1], plan_named(words[3]));
  if (!dataset) {
    std::fprintf(stderr, "killed_writer: %s\n", dataset.error().message().c_str());
    return 1;
  }
  mark(marks + "/rank-" + std::to_string(runtime.rank()) + "-" + std::to_string(::getpid()));
  for (std::uint64_t step = dataset->newest_step().value_or(0) + 1;; ++step) {
    const auto receipt = write_step(runtime, *dataset, cargo, step);
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
  // A rank is missing: nobody would come to the end of MPI.
  std::_Exit(outcome);
}
