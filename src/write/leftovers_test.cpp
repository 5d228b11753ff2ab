// SPDX-License-Identifier: Apache-2.0
// Whoever opens a dataset shares no name with anybody, and removes nothing that others need.
#include "write/leftovers.hpp"

#include <filesystem>
#include <fstream>
#include <set>

#include <gtest/gtest.h>

#include "base/testing.hpp"

namespace forebay::write {
namespace {

using format::StepEntry;
using Names = std::set<std::string>;

class Leftovers : public testing::Test {
 protected:
  void make(const std::string& name) const { std::ofstream(folder_ / name) << "bytes"; }
  Names names() const {
    Names all;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
      all.insert(entry.path().filename());
    return all;
  }
  std::uint64_t claim(const std::vector<StepEntry>& steps) const {
    const auto first = claim_groups(folder_.path(), steps);
    EXPECT_TRUE(first) << first.error().message();
    return first.value_or(1);
  }

  const TemporaryFolder folder_;
};

TEST_F(Leftovers, a_new_dataset_begins_with_group_0_and_says_so_by_a_file) {
  EXPECT_EQ(claim({}), 0U);
  EXPECT_EQ(names(), Names{"data-000000.00000"});
}

TEST_F(Leftovers, who_comes_next_claims_other_groups_whether_or_not_a_step_was_published) {
  EXPECT_EQ(claim({}), 0U);
  EXPECT_EQ(claim({}), kGroupsOfOpening);
  EXPECT_EQ(claim({{.step = 9, .group = 3 * kGroupsOfOpening}}), 4 * kGroupsOfOpening);
  EXPECT_EQ(claim({}), 5 * kGroupsOfOpening);
}

TEST_F(Leftovers, names_that_are_kept_for_later_are_not_given_twice) {
  make("free-data-2000007.00001");
  EXPECT_EQ(claim({}), 3 * kGroupsOfOpening);
}

TEST_F(Leftovers, a_number_that_nobody_counts_to_changes_nothing) {
  make("data-18446744073709551615.00000");
  EXPECT_EQ(claim({{.step = 1, .group = 5}}), kGroupsOfOpening);
}

TEST_F(Leftovers, a_name_that_is_taken_meanwhile_is_passed_over_and_no_link_followed) {
  // No listing counts to this group, so its name is as one that appears after the listing.
  constexpr std::uint64_t kUncounted = (std::uint64_t{1} << 62U) / kGroupsOfOpening + 1;
  constexpr std::uint64_t kTaken = kUncounted * kGroupsOfOpening;
  const std::string name = "data-" + std::to_string(kTaken) + ".00000";
  std::filesystem::create_symlink(folder_ / "elsewhere", folder_ / name);
  EXPECT_EQ(claim({{.step = 1, .group = kTaken - 1}}), kTaken + kGroupsOfOpening);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "elsewhere"));
}

TEST_F(Leftovers, of_a_folder_that_takes_no_file_are_told_with_the_path) {
  const auto first = claim_groups(folder_ / "missing", {});
  ASSERT_EQ(error_class(first), ErrorClass::kNotFound);
  EXPECT_EQ(first.error().path(), folder_ / "missing/data-000000.00000");
}

TEST_F(Leftovers, go_unless_a_step_needs_them_or_somebody_came_later) {
  for (const char* const name :
       {"commits", "owner", "data-000003.00000", "data-000003.00001", "data-000004.00000",
        "free-data-000003.00000", "data-1000000.00000", "free-data-1000002.00000"})
    make(name);
  remove_leftovers(folder_.path(), std::vector<StepEntry>{{.step = 1, .group = 3}},
                   kGroupsOfOpening);
  EXPECT_EQ(names(), (Names{"commits", "owner", "data-000003.00000", "data-000003.00001",
                            "data-1000000.00000", "free-data-1000002.00000"}));
}

}  // namespace
}  // namespace forebay::write
