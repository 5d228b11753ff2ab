// SPDX-License-Identifier: Apache-2.0
// Sessions that try plans, of ranks as threads: on one node and on several, and with a rank that
// leaves.
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/testing.hpp"

namespace forebay {
namespace {

std::vector<comm::CommunicatorFactory> job_factories() {
  std::vector<comm::CommunicatorFactory> factories;
  for (const comm::ThreadRanks& ranks : {comm::ThreadRanks{.count = 1},
                                         {.count = 3},
                                         {.count = 3, .per_node = 1},
                                         {.count = 6, .per_node = 2}})
    factories.push_back(comm::thread_factory(ranks));
  return factories;
}

INSTANTIATE_TEST_SUITE_P(Threads,
                         TunedSessionsSuite,
                         testing::ValuesIn(job_factories()),
                         comm::factory_name);

TEST(TunedSessions, ranks_read_by_the_plan_of_the_program_after_the_first_has_left) {
  const storage::TemporaryDirectory directory;
  const std::string path = directory / "words";
  write_words(path, kFileBytes);
  const Status outcome = comm::run_ranks({.count = 3}, [&](const Communicator& ranks) -> Status {
    Runtime runtime(comm::make_ranks(ranks), test_options());
    const auto file = runtime.open_file(path);
    EXPECT_TRUE(reads_words(must_open_session(file, {.tune = true}), kWhole));
    if (runtime.rank() == 0) return {};
    for (int i = 0; i < 3; ++i)
      EXPECT_TRUE(reads_words(must_open_session(file, {.tune = true}), kWhole));
    return {};
  });
  EXPECT_TRUE(outcome) << outcome.error().message();
}

}  // namespace
}  // namespace forebay
