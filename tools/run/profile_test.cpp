// SPDX-License-Identifier: Apache-2.0
#include "tools/run/profile.hpp"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string_view>

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
    first.add_process(0, kWords);
    first.add_process(0, kWords);
    EXPECT_TRUE(first.files(0).empty());
    first.learn(0, {"/data/a"}, shuffled);
    first.write();
  }
  Profile second(directory / "profiles");
  second.add_process(3, kWords);
  EXPECT_EQ(second.files(3), std::vector<std::string>{"/data/a"});
  EXPECT_EQ(second.hints_for(3, "/data/a", {}).size(), 1U);
  EXPECT_TRUE(second.hints_for(3, "/data/b", {}).empty());
  EXPECT_TRUE(second.hints_for(4, "/data/a", {}).empty());
}

TEST(ProfileTest, damaged_profile_is_replaced) {
  const storage::TemporaryDirectory directory;
  Profile first(directory.path());
  first.add_process(0, kWords);
  first.learn(0, {"/data/a"}, {{0, 8}, {64, 8}, {128, 8}, {192, 8}});
  first.write();
  for (const auto& entry : std::filesystem::directory_iterator(directory.path()))
    std::ofstream(entry.path()) << "not a hint file";
  Profile second(directory.path());
  second.add_process(0, kWords);
  EXPECT_TRUE(second.files(0).empty());
  second.learn(0, {"/data/a"}, {{0, 8}, {64, 8}, {128, 8}, {192, 8}});
  second.write();
  Profile third(directory.path());
  third.add_process(0, kWords);
  EXPECT_EQ(third.files(0).size(), 1U);
}

TEST(ProfileTest, directory_that_cannot_be_written_leaves_no_profile) {
  const storage::TemporaryDirectory directory;
  std::ofstream(directory / "file") << "x";
  Profile profile(directory / "file/folder");
  profile.add_process(0, kWords);
  profile.learn(0, {"/data/a"}, {{0, 8}, {64, 8}, {128, 8}, {192, 8}});
  profile.write();
  Profile none("");
  none.add_process(0, kWords);
  none.learn(0, {"/data/a"}, {{0, 8}});
  none.write();
}

std::vector<trace::Access> strides(std::uint64_t count) {
  std::vector<trace::Access> reads;
  for (std::uint64_t i = 0; i < count; ++i)
    reads.push_back({i * 65'536, 1024});
  return reads;
}

TEST(ProfileTest, changed_file_has_no_hints) {
  const storage::TemporaryDirectory directory;
  Profile first(directory.path());
  first.add_process(0, kWords);
  first.learn(0, {"/data/a", {1000, 5}}, strides(50));
  first.write();
  Profile second(directory.path());
  second.add_process(0, kWords);
  EXPECT_EQ(second.hints_for(0, "/data/a", {1000, 5}).size(), 1U);
  EXPECT_EQ(second.hints_for(0, "/data/a", {}).size(), 1U);
  EXPECT_TRUE(second.hints_for(0, "/data/a", {1001, 5}).empty());
  EXPECT_TRUE(second.hints_for(0, "/data/a", {1000, 6}).empty());
}

TEST(ProfileTest, file_of_the_same_class_has_the_hints_of_another_one) {
  const storage::TemporaryDirectory directory;
  Profile first(directory.path());
  first.add_process(0, kWords);
  first.learn(0, {"/data/step-007.bin", {1000, 5}}, strides(50));
  first.learn(0, {"/data/list-1.bin", {1000, 5}}, {{5, 1}, {99, 3}, {7, 1}, {1, 2}});
  first.write();
  Profile second(directory.path());
  second.add_process(0, kWords);
  EXPECT_EQ(second.hints_for(0, "/data/step-12.bin", {2000, 9}).size(), 1U);
  EXPECT_TRUE(second.hints_for(0, "/data/list-2.bin", {}).empty());  // an order without rule
  EXPECT_TRUE(second.hints_for(0, "/data/other-1.bin", {}).empty());
}

TEST(ProfileTest, files_have_the_order_of_their_first_reads) {
  const storage::TemporaryDirectory directory;
  Profile first(directory.path());
  first.add_process(0, kWords);
  first.learn(0, {"/b", {}, 30}, {{0, 10}});
  first.learn(0, {"/a", {}, 20}, {{0, 10}});
  first.learn(0, {"/c", {}, 10}, {{0, 10}});
  first.learn(0, {"/b", {}, 5}, strides(10));
  first.write();
  Profile second(directory.path());
  second.add_process(0, kWords);
  EXPECT_EQ(second.files(0), (std::vector<std::string>{"/b", "/c", "/a"}));
  EXPECT_EQ(first.learned("/b").size(), 2U);
}

TEST(ProfileTest, jobs_at_the_same_time_both_leave_what_they_read) {
  const storage::TemporaryDirectory directory;
  Profile first(directory.path());
  Profile second(directory.path());
  for (Profile* const one : {&first, &second})
    one->add_process(0, kWords);
  first.learn(0, {"/a"}, strides(10));
  second.learn(0, {"/b"}, strides(10));
  first.write();
  second.write();
  Profile third(directory.path());
  third.add_process(0, kWords);
  EXPECT_EQ(third.files(0).size(), 2U);
}

TEST(ProfileTest, run_without_reads_or_with_few_keeps_the_profile) {
  const storage::TemporaryDirectory directory;
  for (const std::uint64_t count : {1000U, 0U, 5U}) {
    Profile profile(directory.path());
    profile.add_process(0, kWords);
    if (count > 0) profile.learn(0, {"/a", {9, 9}}, strides(count));
    profile.write();
  }
  Profile last(directory.path());
  last.add_process(0, kWords);
  const auto hints = last.hints_for(0, "/a", {});
  ASSERT_EQ(hints.size(), 1U);
  EXPECT_EQ(hints[0]->reads, 1000U);
}

TEST(ProfileTest, job_of_many_programs_writes_those_with_the_most_reads) {
  const storage::TemporaryDirectory directory;
  Profile profile(directory / "profiles");
  for (std::uint32_t i = 0; i < 2 * Profile::kProgramsMax; ++i) {
    profile.add_process(0, {"/bin/cc", std::string(i, 'x')});
    profile.learn(0, {"/a"}, strides(1 + i % Profile::kProgramsMax));
    profile.end_process(0);
  }
  profile.write();
  std::size_t written = 0;
  for (const auto& one : std::filesystem::directory_iterator(directory / "profiles"))
    written += one.is_regular_file() ? 1 : 0;
  EXPECT_EQ(written, Profile::kWrittenMax);
}

TEST(ProfileTest, oldest_profiles_are_removed_and_other_files_stay) {
  const storage::TemporaryDirectory directory;
  std::ofstream(directory / "mine.hints") << "x";
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (std::size_t i = 0; i < Profile::kStoredMax + 10; ++i) {
    std::string name = "old-0000000000000";
    for (const std::size_t digit : {i / 256 % 16, i / 16 % 16, i % 16})
      name += kDigits[digit];
    std::ofstream(directory / (name + ".hints")) << "x";
    std::filesystem::last_write_time(
        directory / (name + ".hints"),
        std::filesystem::file_time_type::clock::now() - std::chrono::hours(24));
  }
  Profile profile(directory.path());
  profile.add_process(0, kWords);
  profile.learn(0, {"/a"}, strides(10));
  profile.write();
  const auto entries = std::filesystem::directory_iterator(directory.path());
  EXPECT_EQ(static_cast<std::size_t>(std::distance(begin(entries), end(entries))),
            Profile::kStoredMax - Profile::kWrittenMax + 1);
  EXPECT_TRUE(std::filesystem::exists(directory / "mine.hints"));
  Profile next(directory.path());
  next.add_process(0, kWords);
  EXPECT_EQ(next.files(0).size(), 1U);
}

}  // namespace
}  // namespace forebay::run
