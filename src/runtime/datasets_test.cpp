// SPDX-License-Identifier: Apache-2.0
// Datasets of one process, and of threads that play ranks on one node or several.
#include <cstdlib>
#include <filesystem>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/dataset_testing.hpp"

namespace forebay {
namespace {

std::vector<comm::Make> dataset_makes() {
  std::vector<comm::Make> all;
  for (const std::uint32_t count : {1, 2, 3, 7})
    all.push_back(comm::threads_make({.count = count}));
  all.push_back(comm::threads_make({.count = 5, .per_node = 2}));
  return all;
}

TEST(DatasetOfOneProcess, is_written_as_the_variable_says_unless_the_program_has_a_plan) {
  const TemporaryFolder folder;
  ::setenv("FOREBAY_PLAN", "brigade", 1);
  Runtime runtime;
  const auto open = runtime.dataset(folder / "open");
  const auto given = runtime.dataset(folder / "given", Strategy::kFilePerProcess);
  ::setenv("FOREBAY_PLAN", "brigades", 1);
  const auto misspelt = runtime.dataset(folder / "misspelt");
  ::unsetenv("FOREBAY_PLAN");
  ASSERT_TRUE(open) << open.error().message();
  ASSERT_TRUE(given) << given.error().message();
  EXPECT_EQ(open->plan().strategy, Strategy::kBrigade);
  EXPECT_EQ(given->plan().strategy, Strategy::kFilePerProcess);
  EXPECT_EQ(error_class(misspelt), ErrorClass::kNotFound) << "no strategy and no file";
}

TEST(DatasetOfOneProcess, stays_where_it_is_when_the_program_goes_elsewhere) {
  const TemporaryFolder folder;
  const TemporaryFolder elsewhere;
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  Runtime runtime;
  auto dataset = runtime.dataset("run.fb");
  std::filesystem::current_path(elsewhere.path());
  ASSERT_TRUE(dataset) << dataset.error().message();
  for (std::uint64_t number = 0; number < 3; ++number) {
    auto step = dataset->begin_step(number);
    ASSERT_TRUE(step) << step.error().message();
    const auto receipt = step->commit().wait();
    EXPECT_TRUE(receipt) << receipt.error().message();
  }
  EXPECT_TRUE(dataset->close());
  std::filesystem::current_path(folder.path());
  const auto stored = runtime.open_dataset("run.fb");
  std::filesystem::current_path(before);
  ASSERT_TRUE(stored) << stored.error().message();
  EXPECT_TRUE(stored->step(2));
  EXPECT_TRUE(std::filesystem::is_empty(elsewhere.path()));
}

INSTANTIATE_TEST_SUITE_P(Threads,
                         DatasetSuite,
                         testing::ValuesIn(dataset_makes()),
                         comm::make_name);

}  // namespace
}  // namespace forebay
