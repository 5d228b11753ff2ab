// SPDX-License-Identifier: Apache-2.0
// The folder of files as a store, on ranks of every kind.
#include <filesystem>
#include <numeric>

#include <gtest/gtest.h>

#include "flow/folder_store.hpp"
#include "flow/shared_folder_testing.hpp"
#include "flow/testing.hpp"

namespace forebay::flow {
namespace {

using testing::on_each_team;
using testing::SharedFolder;

TEST(FolderStore, a_missing_folder_is_told_to_all_who_read) {
  on_each_team([](Team& team) {
    const SharedFolder folder(team);
    const auto store = open_folder_store(folder.file("none"), StoreUse::kRead, team);
    ASSERT_FALSE(store);
    EXPECT_EQ(store.error().kind(), ErrorClass::kNotFound);
    EXPECT_EQ(store.error().path(), folder.file("none"));
  });
}

TEST(FolderStore, a_rank_that_cannot_write_stops_the_step_for_all) {
  on_each_team([](Team& team) {
    const SharedFolder folder(team);
    const auto store = open_folder_store(folder.file("store"), StoreUse::kWrite, team);
    ASSERT_TRUE(store) << store.error().message();
    const auto step = (*store)->begin_step(3);
    ASSERT_TRUE(step) << step.error().message();
    const std::uint32_t failing = team.size() - 1;
    if (team.rank() == failing) {
      // A folder with the name that the part's file would get.
      const std::string part = "store/step-000003/part-" + std::string(5, '0') + "7";
      std::filesystem::create_directories(folder.file(part));
      ASSERT_TRUE((*step)->put_values<double>({"x", 7}, std::vector<double>{1, 2}));
    }
    const Status committed = (*step)->commit();
    ASSERT_FALSE(committed);
    EXPECT_NE(committed.error().path().find("part-000007"), std::string::npos);
    const auto steps = (*store)->steps();
    ASSERT_TRUE(steps) << steps.error().message();
    EXPECT_TRUE(steps->empty());
  });
}

}  // namespace
}  // namespace forebay::flow
