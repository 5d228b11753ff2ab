// SPDX-License-Identifier: Apache-2.0
#include "flow/store_factory.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "command/testing.hpp"
#include "flow/thread_solver_comm.hpp"

namespace forebay::flow {
namespace {

using command::testing::TempDirectory;

std::unique_ptr<Runtime> make_runtime(const RuntimeOptions& options) {
  return std::make_unique<Runtime>(options);
}

/// Writes step 1 with `threads` threads. Returns the store's description, or the Error's text.
std::string write_step_1(const StoreOptions& store_options,
                         const std::string& path,
                         std::uint32_t threads) {
  std::string text;
  run_thread_ranks(threads, [&](SolverComm& comm) {
    StoreFactory factory(store_options, make_runtime, DatasetRanks::kOneRank);
    const auto store = factory.opener()(path, StoreMode::kWrite, comm);
    if (comm.rank() > 0) return;
    text = store ? (*store)->description() : store.error().message();
  });
  return text;
}

bool has_prefix(const std::string& text, const std::string& with) { return text.starts_with(with); }

TEST(StoreFactory, new_stores_are_datasets_if_ranks_can_write_them) {
  const TempDirectory directory;
  EXPECT_PRED2(has_prefix, write_step_1({}, directory.file("one"), 1), "dataset");
  EXPECT_PRED2(has_prefix, write_step_1({}, directory.file("several"), 3), "folder");
  EXPECT_NE(write_step_1({}, directory.file("several.fb"), 3).find("--store folder"),
            std::string::npos);
  EXPECT_PRED2(has_prefix,
               write_step_1({.kind = StoreKind::kDirectory}, directory.file("asked.fb"), 1),
               "folder");
}

TEST(StoreFactory, type_of_an_existing_store_is_detected) {
  const TempDirectory directory;
  std::filesystem::create_directories(directory.file("by-hand/step-000003"));
  EXPECT_PRED2(has_prefix, write_step_1({}, directory.file("by-hand"), 1), "folder");
  EXPECT_PRED2(has_prefix, write_step_1({}, directory.file("set"), 1), "dataset");
  EXPECT_PRED2(has_prefix, write_step_1({.kind = StoreKind::kDataset}, directory.file("set"), 1),
               "dataset");
  const std::string refused =
      write_step_1({.kind = StoreKind::kDirectory}, directory.file("set"), 1);
  EXPECT_NE(refused.find("the path holds a dataset"), std::string::npos) << refused;
}

TEST(StoreFactory, plan_is_a_name_or_a_file_and_applies_to_datasets) {
  const TempDirectory directory;
  const std::string file = directory.file("plan.toml");
  std::ofstream(file) << "strategy = \"brigade\"\n";
  EXPECT_PRED2(has_prefix, write_step_1({.plan = "serial"}, directory.file("a"), 1),
               "dataset, serial");
  EXPECT_PRED2(has_prefix, write_step_1({.plan = file}, directory.file("b"), 1),
               "dataset, brigade");
  const std::string unknown = write_step_1({.plan = "fastest"}, directory.file("c"), 1);
  EXPECT_NE(unknown.find("reduced-blocking"), std::string::npos) << unknown;
  const StoreOptions directory_options{.kind = StoreKind::kDirectory, .plan = "serial"};
  EXPECT_NE(write_step_1(directory_options, directory.file("d"), 1).find("apply to datasets"),
            std::string::npos);
}

/// Commits steps 1 to 4 with one number each.
void write_four(PartStore& store) {
  for (const std::uint64_t step : {1U, 2U, 3U, 4U}) {
    const auto writer = store.begin_step(step);
    ASSERT_TRUE(writer) << writer.error().message();
    ASSERT_TRUE((*writer)->put_values<double>({"x", 0}, std::vector<double>{1}));
    ASSERT_TRUE((*writer)->commit());
  }
  ASSERT_TRUE(store.wait());
}

/// Steps that remain of the four, in a new dataset.
std::vector<std::uint64_t> steps_kept(const std::string& path, const StoreOptions& store_options) {
  std::vector<std::uint64_t> kept;
  run_thread_ranks(1, [&](SolverComm& comm) {
    {
      StoreFactory factory(store_options, make_runtime, DatasetRanks::kOneRank);
      const auto store = factory.opener()(path, StoreMode::kWrite, comm);
      ASSERT_TRUE(store) << store.error().message();
      write_four(**store);
    }
    // Old steps are dropped after the newest is durable, at the latest when the writer has ended.
    StoreFactory factory({}, make_runtime, DatasetRanks::kOneRank);
    const auto store = factory.opener()(path, StoreMode::kRead, comm);
    ASSERT_TRUE(store) << store.error().message();
    kept = (*store)->steps().value();
  });
  return kept;
}

TEST(StoreFactory, keep_retains_that_number_of_steps) {
  const TempDirectory directory;
  EXPECT_EQ(steps_kept(directory.file("kept.fb"), {.keep = 2}), (std::vector<std::uint64_t>{3, 4}));
}

TEST(StoreFactory, keep_0_retains_all_steps_and_overrides_the_plan) {
  const TempDirectory directory;
  const std::string plan = directory.file("plan.toml");
  std::ofstream(plan) << "retained_steps = 2\n";
  EXPECT_EQ(steps_kept(directory.file("two.fb"), {.plan = plan}),
            (std::vector<std::uint64_t>{3, 4}));
  EXPECT_EQ(steps_kept(directory.file("all.fb"), {.plan = plan, .keep = 0}),
            (std::vector<std::uint64_t>{1, 2, 3, 4}));
}

}  // namespace
}  // namespace forebay::flow
