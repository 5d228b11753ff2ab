// SPDX-License-Identifier: Apache-2.0
#include "tools/run/profile.hpp"

#include <fstream>

#include <gtest/gtest.h>

#include "storage/testing.hpp"

namespace forebay::run {
namespace {

const std::vector<std::string> kWords = {"/bin/solver", "input"};

TEST(ProfileName, numbers_in_the_arguments_count_as_the_same) {
  EXPECT_EQ(profile_name({"/bin/solver", "--step", "12", "in_001.dat"}),
            profile_name({"/bin/solver", "--step", "7", "in_42.dat"}));
  EXPECT_NE(profile_name({"/bin/solver", "a"}), profile_name({"/bin/solver", "b"}));
  EXPECT_NE(profile_name({"/bin/solver", "ab"}), profile_name({"/bin/solver", "a", "b"}));
  EXPECT_TRUE(profile_name({"/opt/x y/my solver!", "a"}).starts_with("my_solver_-"));
  EXPECT_TRUE(profile_name({}).starts_with("program-"));
}

TEST(ProfileTest, second_run_finds_what_the_first_has_read) {
  const storage::TemporaryDirectory directory;
  std::vector<trace::Access> shuffled;
  for (std::uint64_t i = 0; i < 100; ++i)
    shuffled.push_back({i * 7919 % 100 * 65'536, 1024});
  {
    Profile first(directory / "profiles");
    EXPECT_TRUE(first.add_process(0, kWords));
    EXPECT_FALSE(first.add_process(0, kWords));
    EXPECT_TRUE(first.files(0, 10).empty());
    first.learn(0, "/data/a", shuffled);
    first.write();
  }
  Profile second(directory / "profiles");
  EXPECT_TRUE(second.add_process(3, kWords));
  EXPECT_EQ(second.files(3, 10), std::vector<std::string>{"/data/a"});
  EXPECT_EQ(second.hints_for(3, "/data/a").size(), 1U);
  EXPECT_TRUE(second.hints_for(3, "/data/b").empty());
  EXPECT_TRUE(second.hints_for(4, "/data/a").empty());
}

TEST(ProfileTest, damaged_profile_is_replaced) {
  const storage::TemporaryDirectory directory;
  Profile first(directory.path());
  first.add_process(0, kWords);
  first.learn(0, "/data/a", {{0, 8}, {64, 8}, {128, 8}, {192, 8}});
  first.write();
  for (const auto& entry : std::filesystem::directory_iterator(directory.path()))
    std::ofstream(entry.path()) << "not a hint file";
  Profile second(directory.path());
  EXPECT_TRUE(second.add_process(0, kWords));
  EXPECT_TRUE(second.files(0, 10).empty());
  second.learn(0, "/data/a", {{0, 8}, {64, 8}, {128, 8}, {192, 8}});
  second.write();
  Profile third(directory.path());
  third.add_process(0, kWords);
  EXPECT_EQ(third.files(0, 10).size(), 1U);
}

TEST(ProfileTest, directory_that_cannot_be_written_leaves_no_profile) {
  const storage::TemporaryDirectory directory;
  std::ofstream(directory / "file") << "x";
  Profile profile(directory / "file/folder");
  EXPECT_TRUE(profile.add_process(0, kWords));
  profile.learn(0, "/data/a", {{0, 8}, {64, 8}, {128, 8}, {192, 8}});
  profile.write();
  Profile none("");
  EXPECT_FALSE(none.add_process(0, kWords));
  none.learn(0, "/data/a", {{0, 8}});
  none.write();
}

}  // namespace
}  // namespace forebay::run
