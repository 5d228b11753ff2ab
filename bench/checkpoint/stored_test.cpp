// SPDX-License-Identifier: Apache-2.0
// What is left in a folder: all of it is synced whoever does it, and what is missing is seen.
#include "bench/checkpoint/stored.hpp"

#include <algorithm>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/checkpoint/team_testing.hpp"
#include "bench/checkpoint/together.hpp"

namespace forebay::bench::checkpoint {
namespace {

namespace fs = std::filesystem;

class Stored : public testing::Test {
 protected:
  void make_file(const fs::path& name, std::size_t size) const {
    if (team_.rank != 0) return;
    fs::create_directories((folder_.path() / name).parent_path());
    std::ofstream(folder_.path() / name) << std::string(size, 'x');
  }

  const Team team_ = whole_team();
  const TeamFolder folder_{team_, "stored"};
};

TEST_F(Stored, files_and_folders_are_synced_at_any_depth) {
  for (const char* name : {"a", "b", "below/c", "below/deeper/d"})
    make_file(name, 100);
  MPI_Barrier(team_.communicator);
  const auto paths = paths_to_sync(folder_.path());
  ASSERT_TRUE(paths) << paths.error().message();
  EXPECT_EQ(paths->size(), 7U);
  EXPECT_THAT(*paths, testing::Contains(folder_.path()));
  EXPECT_TRUE(sync_all(folder_.path()));
  EXPECT_TRUE(sync_together(team_, folder_.path()));
}

TEST_F(Stored, more_files_than_are_synced_at_once_are_synced_by_all_ranks) {
  for (int number = 0; number < 50 * static_cast<int>(team_.size); ++number)
    make_file("many/" + std::to_string(number), 1);
  MPI_Barrier(team_.communicator);
  EXPECT_TRUE(sync_together(team_, folder_.path()));
}

TEST_F(Stored, what_is_not_there_any_more_has_nothing_to_lose) {
  EXPECT_TRUE(sync_each({folder_.path() / "gone", folder_.path()}));
  EXPECT_TRUE(sync_each({}));
}

TEST_F(Stored, files_that_are_shorter_than_what_was_written_are_damage) {
  constexpr std::size_t kHalf = 1 << 16U;
  make_file("first", kHalf);
  make_file("below/second", kHalf);
  MPI_Barrier(team_.communicator);
  ASSERT_TRUE(sync_all(folder_.path()));
  EXPECT_TRUE(check_sizes(folder_.path(), 2 * kHalf));
  const Status less = check_sizes(folder_.path(), 2 * kHalf + 4096);
  ASSERT_FALSE(less);
  EXPECT_EQ(less.error().kind(), ErrorClass::kDamage);
}

TEST_F(Stored, files_that_are_long_and_have_no_bytes_are_damage) {
  constexpr std::size_t kLong = 1 << 20U;
  make_file("long", 8);
  if (team_.rank == 0) fs::resize_file(folder_.path() / "long", kLong);
  MPI_Barrier(team_.communicator);
  ASSERT_TRUE(sync_all(folder_.path()));
  const Status hollow = check_sizes(folder_.path(), kLong);
  ASSERT_FALSE(hollow);
  EXPECT_EQ(hollow.error().kind(), ErrorClass::kDamage);
}

TEST_F(Stored, a_folder_that_cannot_be_listed_fails_where_it_is_listed) {
  EXPECT_EQ(sync_together(team_, folder_.path() / "nowhere").has_value(), team_.rank != 0);
}

}  // namespace
}  // namespace forebay::bench::checkpoint
