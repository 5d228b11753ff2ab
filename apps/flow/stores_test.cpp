// SPDX-License-Identifier: Apache-2.0
#include "flow/stores.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "command/testing.hpp"
#include "flow/thread_team.hpp"

namespace forebay::flow {
namespace {

using command::testing::TempFolder;

std::unique_ptr<Runtime> make_runtime(const RuntimeOptions& options) {
  return std::make_unique<Runtime>(options);
}

/// Writes step 1 by so many threads; what the store is, or the Error's text.
std::string written(const StoreWishes& wishes, const std::string& path, std::uint32_t threads) {
  std::string said;
  run_as_threads(threads, [&](Team& team) {
    Stores stores(wishes, make_runtime, Writers::kOneRank);
    const auto store = stores.opener()(path, StoreUse::kWrite, team);
    if (team.rank() > 0) return;
    said = store ? (*store)->description() : store.error().message();
  });
  return said;
}

bool begins(const std::string& text, const std::string& with) { return text.starts_with(with); }

TEST(Stores, new_ones_are_datasets_where_these_can_be_written) {
  const TempFolder folder;
  EXPECT_PRED2(begins, written({}, folder.file("one"), 1), "dataset");
  EXPECT_PRED2(begins, written({}, folder.file("several"), 3), "folder");
  EXPECT_NE(written({}, folder.file("several.fb"), 3).find("--store folder"), std::string::npos);
  EXPECT_PRED2(begins, written({.kind = StoreKind::kFolder}, folder.file("asked.fb"), 1), "folder");
}

TEST(Stores, what_is_there_is_recognised) {
  const TempFolder folder;
  std::filesystem::create_directories(folder.file("by-hand/step-000003"));
  EXPECT_PRED2(begins, written({}, folder.file("by-hand"), 1), "folder");
  EXPECT_PRED2(begins, written({}, folder.file("set"), 1), "dataset");
  EXPECT_PRED2(begins, written({.kind = StoreKind::kDataset}, folder.file("set"), 1), "dataset");
  const std::string refused = written({.kind = StoreKind::kFolder}, folder.file("set"), 1);
  EXPECT_NE(refused.find("there is a dataset"), std::string::npos) << refused;
}

TEST(Stores, plans_are_names_or_files_and_for_datasets) {
  const TempFolder folder;
  const std::string file = folder.file("plan.toml");
  std::ofstream(file) << "strategy = \"brigade\"\n";
  EXPECT_PRED2(begins, written({.plan = "serial"}, folder.file("a"), 1), "dataset, serial");
  EXPECT_PRED2(begins, written({.plan = file}, folder.file("b"), 1), "dataset, brigade");
  const std::string unknown = written({.plan = "fastest"}, folder.file("c"), 1);
  EXPECT_NE(unknown.find("reduced-blocking"), std::string::npos) << unknown;
  const StoreWishes by_hand{.kind = StoreKind::kFolder, .plan = "serial"};
  EXPECT_NE(written(by_hand, folder.file("d"), 1).find("for datasets"), std::string::npos);
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

/// Of four that were written so, in a new dataset.
std::vector<std::uint64_t> steps_kept(const std::string& path, const StoreWishes& wishes) {
  std::vector<std::uint64_t> kept;
  run_as_threads(1, [&](Team& team) {
    {
      Stores stores(wishes, make_runtime, Writers::kOneRank);
      const auto store = stores.opener()(path, StoreUse::kWrite, team);
      ASSERT_TRUE(store) << store.error().message();
      write_four(**store);
    }
    // The older ones go once the newest is durable: at the latest when the writer has ended.
    Stores stores({}, make_runtime, Writers::kOneRank);
    const auto store = stores.opener()(path, StoreUse::kRead, team);
    ASSERT_TRUE(store) << store.error().message();
    kept = (*store)->steps().value();
  });
  return kept;
}

TEST(Stores, as_many_steps_stay_as_are_to_be_kept) {
  const TempFolder folder;
  EXPECT_EQ(steps_kept(folder.file("kept.fb"), {.keep = 2}), (std::vector<std::uint64_t>{3, 4}));
}

TEST(Stores, all_steps_stay_if_that_is_asked_for_whatever_the_plan_says) {
  const TempFolder folder;
  const std::string plan = folder.file("plan.toml");
  std::ofstream(plan) << "keep = 2\n";
  EXPECT_EQ(steps_kept(folder.file("two.fb"), {.plan = plan}), (std::vector<std::uint64_t>{3, 4}));
  EXPECT_EQ(steps_kept(folder.file("all.fb"), {.plan = plan, .keep = 0}),
            (std::vector<std::uint64_t>{1, 2, 3, 4}));
}

}  // namespace
}  // namespace forebay::flow
