// SPDX-License-Identifier: Apache-2.0
// Files left in a directory: all of them are synced, and missing bytes are detected.
#include "bench/checkpoint/run_files.hpp"

#include <algorithm>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/checkpoint/collective_sync.hpp"
#include "bench/checkpoint/team_testing.hpp"

namespace forebay::bench::checkpoint {
namespace {

namespace fs = std::filesystem;

class RunFiles : public testing::Test {
 protected:
  void make_file(const fs::path& name, std::size_t size) const {
    if (team_.rank != 0) return;
    fs::create_directories((directory_.path() / name).parent_path());
    std::ofstream(directory_.path() / name) << std::string(size, 'x');
  }

  const RankTeam team_ = world_team();
  const TeamDirectory directory_{team_, "stored"};
};

TEST_F(RunFiles, files_and_directories_are_synced_at_any_depth) {
  for (const char* name : {"a", "b", "below/c", "below/deeper/d"})
    make_file(name, 100);
  MPI_Barrier(team_.communicator);
  const auto paths = paths_to_sync(directory_.path());
  ASSERT_TRUE(paths) << paths.error().message();
  EXPECT_EQ(paths->size(), 7U);
  EXPECT_THAT(*paths, testing::Contains(directory_.path()));
  EXPECT_TRUE(sync_all(directory_.path()));
  EXPECT_TRUE(sync_collective(team_, directory_.path()));
}

TEST_F(RunFiles, many_files_are_synced_by_all_ranks) {
  for (int number = 0; number < 50 * static_cast<int>(team_.size); ++number)
    make_file("many/" + std::to_string(number), 1);
  MPI_Barrier(team_.communicator);
  EXPECT_TRUE(sync_collective(team_, directory_.path()));
}

TEST_F(RunFiles, missing_files_are_skipped) {
  EXPECT_TRUE(sync_each({directory_.path() / "gone", directory_.path()}));
  EXPECT_TRUE(sync_each({}));
}

TEST_F(RunFiles, files_shorter_than_the_payload_are_damage) {
  constexpr std::size_t kHalf = 1 << 16U;
  make_file("first", kHalf);
  make_file("below/second", kHalf);
  MPI_Barrier(team_.communicator);
  ASSERT_TRUE(sync_all(directory_.path()));
  EXPECT_TRUE(check_sizes(directory_.path(), 2 * kHalf));
  const Status less = check_sizes(directory_.path(), 2 * kHalf + 4096);
  ASSERT_FALSE(less);
  EXPECT_EQ(less.error().kind(), ErrorClass::kDamage);
}

TEST_F(RunFiles, files_with_holes_are_damage) {
  constexpr std::size_t kLong = 1 << 20U;
  make_file("long", 8);
  if (team_.rank == 0) fs::resize_file(directory_.path() / "long", kLong);
  MPI_Barrier(team_.communicator);
  ASSERT_TRUE(sync_all(directory_.path()));
  const Status hollow = check_sizes(directory_.path(), kLong);
  ASSERT_FALSE(hollow);
  EXPECT_EQ(hollow.error().kind(), ErrorClass::kDamage);
}

TEST_F(RunFiles, missing_directory_fails_on_the_listing_rank) {
  EXPECT_EQ(sync_collective(team_, directory_.path() / "nowhere").has_value(), team_.rank != 0);
}

}  // namespace
}  // namespace forebay::bench::checkpoint
