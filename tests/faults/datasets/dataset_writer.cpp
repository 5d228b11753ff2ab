// SPDX-License-Identifier: Apache-2.0
// The program that tests of datasets kill, or whose power they cut. Its ranks (threads) write
// steps, as many at a time as the plan allows. It reports each step when it is durable.
//
// dataset_writer PATH CONTENTS CONFIG STEPS [MARKS]
//
// CONTENTS and CONFIG are seeds (test_contents.hpp). After each receipt the first rank creates the
// file MARKS/durable-<step>, then prints a line with the step's number. Errors go to stderr.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "comm/in_process.hpp"
#include "comm/ranks_access.hpp"
#include "in_flight_steps.hpp"
#include "test_contents.hpp"

namespace forebay::faults {
namespace {

using Communicator = std::shared_ptr<comm::Communicator>;

struct DatasetTask {
  std::string path;
  TestContents contents;
  WriteConfig config;
  std::uint64_t steps;
  std::string marks;
};

Status report_durable(const DatasetTask& task, std::uint64_t step) {
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
  return failure(system_error({.operation = "report", .path = "stdout"}, errno));
}

/// Waits for this rank's oldest step in flight, then reports it.
Status wait_for_oldest(const DatasetTask& task, Runtime& runtime, InFlightSteps& in_flight_steps) {
  const StepResult oldest = in_flight_steps.wait_oldest();
  if (!oldest.receipt) return failure(oldest.receipt.error());
  return runtime.rank() == 0 ? report_durable(task, oldest.step) : Status();
}

Status write_as_rank(const DatasetTask& task, const Communicator& ranks) {
  Runtime runtime(comm::make_ranks(ranks), {.budget_bytes = 1_MiB});
  auto dataset = runtime.create_dataset(
      task.path, {.existing = ExistingDataset::kAppend, .plan = task.config.plan});
  if (!dataset) return failure(dataset.error());
  InFlightSteps in_flight_steps(dataset->plan().steps_in_flight);
  const std::uint64_t first = dataset->newest_step().value_or(0) + 1;
  for (std::uint64_t step = first; step < first + task.steps; ++step) {
    if (in_flight_steps.is_full())
      if (Status waited = wait_for_oldest(task, runtime, in_flight_steps); !waited) return waited;
    delay_rank(task.contents.seed(), step, runtime.rank());
    auto receipt = commit_step(runtime, *dataset, task.contents, step);
    if (!receipt) return failure(receipt.error());
    in_flight_steps.add(step, std::move(*receipt));
  }
  while (!in_flight_steps.is_empty())
    if (Status waited = wait_for_oldest(task, runtime, in_flight_steps); !waited) return waited;
  return dataset->close();
}

Status write_steps(const DatasetTask& task) {
  return comm::run_ranks({.count = task.config.ranks, .per_node = task.config.per_node},
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
                                    .contents = TestContents(number(2)),
                                    .config = random_config(number(3)),
                                    .steps = number(4),
                                    .marks = words.size() == 6 ? words[5] : ""});
  if (!written) std::fprintf(stderr, "%s\n", written.error().message().c_str());
  return written ? 0 : 1;
}
