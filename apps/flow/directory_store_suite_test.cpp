// SPDX-License-Identifier: Apache-2.0
// The directory of files as a store, on ranks of every kind.
#include <filesystem>
#include <numeric>

#include <gtest/gtest.h>

#include "flow/directory_store.hpp"
#include "flow/shared_directory_testing.hpp"
#include "flow/testing.hpp"

namespace forebay::flow {
namespace {

using testing::for_each_comm;
using testing::SharedDirectory;

TEST(DirectoryStore, read_of_missing_directory_fails_on_all_ranks) {
  for_each_comm([](SolverComm& comm) {
    const SharedDirectory directory(comm);
    const auto store = open_directory_store(directory.file("none"), StoreMode::kRead, comm);
    ASSERT_FALSE(store);
    EXPECT_EQ(store.error().kind(), ErrorClass::kNotFound);
    EXPECT_EQ(store.error().path(), directory.file("none"));
  });
}

TEST(DirectoryStore, write_failure_of_one_rank_fails_the_step_on_all) {
  for_each_comm([](SolverComm& comm) {
    const SharedDirectory directory(comm);
    const auto store = open_directory_store(directory.file("store"), StoreMode::kWrite, comm);
    ASSERT_TRUE(store) << store.error().message();
    const auto step = (*store)->begin_step(3);
    ASSERT_TRUE(step) << step.error().message();
    const std::uint32_t failing = comm.size() - 1;
    if (comm.rank() == failing) {
      // A directory with the name of the part's file.
      const std::string part = "store/step-000003/part-" + std::string(5, '0') + "7";
      std::filesystem::create_directories(directory.file(part));
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
