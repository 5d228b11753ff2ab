// SPDX-License-Identifier: Apache-2.0
// Datasets of one process, and of ranks as threads on one node or several.
#include <array>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/dataset_testing.hpp"

namespace forebay {
namespace {

std::vector<comm::CommunicatorFactory> dataset_rank_factories() {
  std::vector<comm::CommunicatorFactory> factories;
  for (const std::uint32_t count : {1, 2, 3, 7})
    factories.push_back(comm::thread_factory({.count = count}));
  factories.push_back(comm::thread_factory({.count = 5, .per_node = 2}));
  return factories;
}

/// As one program does. False if it may not create the dataset.
bool write_one_step(const std::string& path) {
  Runtime runtime;
  auto dataset = runtime.create_dataset(path);
  if (!dataset) return false;
  auto step = dataset->begin_step(dataset->newest_step().value_or(0) + 1);
  return step && step->put("value", Part{0}, std::array{1.5}) && step->commit().wait() &&
         dataset->close();
}

TEST(SingleProcessDataset, variable_sets_the_plan_unless_the_program_has_one) {
  const TemporaryDirectory directory;
  ::setenv("FOREBAY_PLAN", "brigade", 1);
  Runtime runtime;
  const auto open = runtime.create_dataset(directory / "open");
  const auto given =
      runtime.create_dataset(directory / "given", {.plan = plan_of(Strategy::kFilePerProcess)});
  ::setenv("FOREBAY_PLAN", "brigades", 1);
  const auto misspelt = runtime.create_dataset(directory / "misspelt");
  ::unsetenv("FOREBAY_PLAN");
  ASSERT_TRUE(open) << open.error().message();
  ASSERT_TRUE(given) << given.error().message();
  EXPECT_EQ(open->plan().strategy, Strategy::kBrigade);
  EXPECT_EQ(given->plan().strategy, Strategy::kFilePerProcess);
  EXPECT_EQ(error_class(misspelt), ErrorClass::kNotFound) << "neither a strategy nor a file";
}

TEST(SingleProcessDataset, tuning_profile_sets_the_plan) {
  const TemporaryDirectory directory;
  const std::string path = directory / "app.tuning.toml";
  std::ofstream(path) << "format = 1\n[[entries]]\nranks = 1\nnodes = 1\nrank_bytes = 8\n"
                         "median_s = 1\n[entries.plan]\nstrategy = \"reduced-blocking\"\n"
                         "writers = 1\nfiles = 1\nunit_bytes = 65536\n";
  Runtime runtime;
  const auto named = runtime.create_dataset(directory / "named", {.profile = path});
  ::setenv("FOREBAY_TUNING", path.c_str(), 1);
  const auto by_variable = runtime.create_dataset(directory / "variable");
  ::unsetenv("FOREBAY_TUNING");
  const auto missing = runtime.create_dataset(directory / "missing", {.profile = path + "x"});
  for (const auto* dataset : {&named, &by_variable}) {
    ASSERT_TRUE(*dataset) << dataset->error().message();
    EXPECT_EQ((*dataset)->plan().tuning.unit_bytes, 64_KiB) << (*dataset)->plan().reason;
  }
  EXPECT_EQ(error_class(missing), ErrorClass::kNotFound);
}

TEST(SingleProcessDataset, dataset_without_steps_can_be_created_again) {
  const TemporaryDirectory directory;
  for (int round = 0; round < 2; ++round) {
    Runtime runtime;
    auto dataset = runtime.create_dataset(directory / "run.fb");
    ASSERT_TRUE(dataset) << dataset.error().message();
    EXPECT_TRUE(dataset->close());
  }
}

TEST(SingleProcessDataset, refused_creation_leaves_the_directory_unchanged) {
  const TemporaryDirectory directory;
  const std::string path = directory / "run.fb";
  write_one_step(path);
  const auto names = [&path] {
    std::set<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(path))
      found.insert(entry.path().filename());
    return found;
  };
  const auto before = names();
  Runtime runtime;
  EXPECT_EQ(error_class(runtime.create_dataset(path)), ErrorClass::kExists);
  EXPECT_EQ(names(), before);
}

TEST(SingleProcessDataset, of_programs_that_create_one_dataset_only_one_adds_a_step) {
  for (int round = 0; round < 30; ++round) {
    const TemporaryDirectory directory;
    const std::string path = directory / "run.fb";
    std::atomic<int> written{0};
    {
      std::vector<std::jthread> programs;
      for (int program = 0; program < 3; ++program)
        programs.emplace_back([&] { written += write_one_step(path) ? 1 : 0; });
    }
    EXPECT_EQ(written, 1) << "round " << round;
  }
}

TEST(SingleProcessDataset, path_is_not_affected_by_chdir) {
  const TemporaryDirectory directory;
  const TemporaryDirectory elsewhere;
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(directory.path());
  Runtime runtime;
  auto dataset = runtime.create_dataset("run.fb");
  std::filesystem::current_path(elsewhere.path());
  ASSERT_TRUE(dataset) << dataset.error().message();
  for (std::uint64_t number = 0; number < 3; ++number) {
    auto step = dataset->begin_step(number);
    ASSERT_TRUE(step) << step.error().message();
    const auto receipt = step->commit().wait();
    EXPECT_TRUE(receipt) << receipt.error().message();
  }
  EXPECT_TRUE(dataset->close());
  std::filesystem::current_path(directory.path());
  const auto stored = runtime.open_dataset("run.fb");
  std::filesystem::current_path(before);
  ASSERT_TRUE(stored) << stored.error().message();
  EXPECT_TRUE(stored->open_step(2));
  EXPECT_TRUE(std::filesystem::is_empty(elsewhere.path()));
}

INSTANTIATE_TEST_SUITE_P(Threads,
                         DatasetSuite,
                         testing::ValuesIn(dataset_rank_factories()),
                         comm::factory_name);

}  // namespace
}  // namespace forebay
