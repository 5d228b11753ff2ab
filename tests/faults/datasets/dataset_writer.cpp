// SPDX-License-Identifier: Apache-2.0
// The program that tests of datasets kill, and whose power they cut: ranks (threads) that write one
// step after another, as many at a time as the plan allows, and say of each when it is durable.
//
//   dataset_writer PATH CONTENTS WAY STEPS [MARKS]
//
// CONTENTS and WAY are seeds (cargo.hpp). After each receipt the first rank prints a line with the
// step's number, and before that makes the file MARKS/durable-<step>. What fails goes to stderr.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "cargo.hpp"
#include "comm/in_process.hpp"
#include "steps_under_way.hpp"

namespace forebay::faults {
namespace {

using Communicator = std::shared_ptr<comm::Communicator>;

struct Task {
  std::string path;
  Cargo cargo;
  Way way;
  std::uint64_t steps;
  std::string marks;
};

Status say_durable(const Task& task, std::uint64_t step) {
  const std::string number = std::to_string(step);
  if (!task.marks.empty()) {
    const std::string mark = task.marks + "/durable-" + number;
    const int file = ::open(mark.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0) return failure(system_error({.operation = "mark", .path = mark}, errno));
    ::close(file);
  }
  const std::string line = number + "\n";
  if (::write(STDOUT_FILENO, line.data(), line.size()) == static_cast<ssize_t>(line.size()))
    return {};
  return failure(system_error({.operation = "tell", .path = "stdout"}, errno));
}

/// Waits for the oldest step that this rank has under way; nothing is said before its receipt.
Status hear_of_oldest(const Task& task, Runtime& runtime, StepsUnderWay& under_way) {
  const Outcome oldest = under_way.oldest();
  if (!oldest.receipt) return failure(oldest.receipt.error());
  return runtime.rank() == 0 ? say_durable(task, oldest.step) : Status();
}

Status write_as_rank(const Task& task, const Communicator& ranks) {
  Runtime runtime(Ranks(ranks), {.budget_bytes = 1_MiB});
  auto dataset = runtime.dataset(task.path, task.way.plan);
  if (!dataset) return failure(dataset.error());
  StepsUnderWay under_way(dataset->plan().steps_in_flight);
  const std::uint64_t first = dataset->newest_step().value_or(0) + 1;
  for (std::uint64_t step = first; step < first + task.steps; ++step) {
    if (under_way.is_full())
      if (Status heard = hear_of_oldest(task, runtime, under_way); !heard) return heard;
    drift_apart(task.cargo.seed(), step, runtime.rank());
    auto receipt = commit_step(runtime, *dataset, task.cargo, step);
    if (!receipt) return failure(receipt.error());
    under_way.add(step, std::move(*receipt));
  }
  while (!under_way.is_empty())
    if (Status heard = hear_of_oldest(task, runtime, under_way); !heard) return heard;
  return dataset->close();
}

Status write_steps(const Task& task) {
  return comm::run_ranks({.count = task.way.ranks, .per_node = task.way.per_node},
                         [&task](const Communicator& ranks) { return write_as_rank(task, ranks); });
}

}  // namespace
}  // namespace forebay::faults

int main(int argc, char** argv) {
  using namespace forebay::faults;
  const std::span words(argv, static_cast<std::size_t>(argc));
  if (words.size() != 5 && words.size() != 6) return 2;
  const auto number = [&](std::size_t word) { return std::strtoull(words[word], nullptr, 10); };
  const auto written = write_steps({.path = words[1],
                                    .cargo = Cargo(number(2)),
                                    .way = way_of(number(3)),
                                    .steps = number(4),
                                    .marks = words.size() == 6 ? words[5] : ""});
  if (!written) std::fprintf(stderr, "%s\n", written.error().message().c_str());
  return written ? 0 : 1;
}
