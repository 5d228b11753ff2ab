// SPDX-License-Identifier: Apache-2.0
// An opening shares no names with another one, and removes nothing that others need.
#include "write/garbage_collection.hpp"

#include <filesystem>
#include <fstream>
#include <set>

#include <gtest/gtest.h>

#include "base/testing.hpp"

namespace forebay::write {
namespace {

using format::StepEntry;
using Names = std::set<std::string>;

class GarbageCollectionTest : public testing::Test {
 protected:
  void make(const std::string& name) const { std::ofstream(directory_ / name) << "bytes"; }
  Names names() const {
    Names all;
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path()))
      all.insert(entry.path().filename());
    return all;
  }
  std::uint64_t claim(const std::vector<StepEntry>& steps) const {
    const auto first = reserve_groups(directory_.path(), steps);
    EXPECT_TRUE(first) << first.error().message();
    return first.value_or(1);
  }

  const TemporaryDirectory directory_;
};

TEST_F(GarbageCollectionTest, new_dataset_reserves_group_0_by_a_file) {
  EXPECT_EQ(claim({}), 0U);
  EXPECT_EQ(names(), Names{"data-000000.00000"});
}

TEST_F(GarbageCollectionTest, next_opening_reserves_new_groups) {
  EXPECT_EQ(claim({}), 0U);
  EXPECT_EQ(claim({}), kGroupsPerOpen);
  EXPECT_EQ(claim({{.step = 9, .group = 3 * kGroupsPerOpen}}), 4 * kGroupsPerOpen);
  EXPECT_EQ(claim({}), 5 * kGroupsPerOpen);
}

TEST_F(GarbageCollectionTest, names_of_free_files_are_not_reused) {
  make("free-data-2000007.00001");
  EXPECT_EQ(claim({}), 3 * kGroupsPerOpen);
}

TEST_F(GarbageCollectionTest, group_above_limit_is_ignored) {
  make("data-18446744073709551615.00000");
  EXPECT_EQ(claim({{.step = 1, .group = 5}}), kGroupsPerOpen);
}

TEST_F(GarbageCollectionTest, existing_name_is_skipped_and_link_not_followed) {
  // No listing counts to this group, so its name is like one that appears after the listing.
  constexpr std::uint64_t kUncounted = (std::uint64_t{1} << 62U) / kGroupsPerOpen + 1;
  constexpr std::uint64_t kTaken = kUncounted * kGroupsPerOpen;
  const std::string name = "data-" + std::to_string(kTaken) + ".00000";
  std::filesystem::create_symlink(directory_ / "elsewhere", directory_ / name);
  EXPECT_EQ(claim({{.step = 1, .group = kTaken - 1}}), kTaken + kGroupsPerOpen);
  EXPECT_FALSE(std::filesystem::exists(directory_ / "elsewhere"));
}

TEST_F(GarbageCollectionTest, missing_directory_returns_error_with_path) {
  const auto first = reserve_groups(directory_ / "missing", {});
  ASSERT_EQ(error_class(first), ErrorClass::kNotFound);
  EXPECT_EQ(first.error().path(), directory_ / "missing/data-000000.00000");
}

TEST_F(GarbageCollectionTest, unneeded_files_below_end_group_are_removed) {
  for (const char* const name :
       {"commits", "owner", "data-000003.00000", "data-000003.00001", "data-000004.00000",
        "free-data-000003.00000", "data-1000000.00000", "free-data-1000002.00000"})
    make(name);
  collect_garbage(directory_.path(), std::vector<StepEntry>{{.step = 1, .group = 3}},
                  kGroupsPerOpen);
  EXPECT_EQ(names(), (Names{"commits", "owner", "data-000003.00000", "data-000003.00001",
                            "data-1000000.00000", "free-data-1000002.00000"}));
}

}  // namespace
}  // namespace forebay::write
