// SPDX-License-Identifier: Apache-2.0
#include "model/profile_place.hpp"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "base/testing.hpp"

namespace forebay::model {
namespace {

TEST(ProfilePlace, default_is_in_the_folder_of_settings) {
  EXPECT_EQ(default_profile_place({{"XDG_CONFIG_HOME", "/c"}, {"HOME", "/h"}}),
            "/c/forebay/profile.toml");
  EXPECT_EQ(default_profile_place({{"HOME", "/h"}}), "/h/.config/forebay/profile.toml");
  EXPECT_EQ(default_profile_place({{"XDG_CONFIG_HOME", "c"}, {"HOME", "/h"}}),
            "/h/.config/forebay/profile.toml");
  EXPECT_EQ(default_profile_place({{"HOME", ""}}), "");
  EXPECT_EQ(default_profile_place({}), "");
}

TEST(ProfilePlace, default_counts_where_it_is_there) {
  const TemporaryFolder folder;
  const Environment environment{{"XDG_CONFIG_HOME", folder.path()}};
  EXPECT_EQ(profile_in_force(environment), "");
  EXPECT_EQ(profile_to_write(environment), folder / "forebay/profile.toml");
  std::filesystem::create_directory(folder / "forebay");
  std::ofstream(folder / "forebay/profile.toml") << "format = 1\n";
  EXPECT_EQ(profile_in_force(environment), folder / "forebay/profile.toml");
}

TEST(ProfilePlace, what_is_named_counts_before_the_default_be_it_there_or_not) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "forebay");
  std::ofstream(folder / "forebay/profile.toml") << "format = 1\n";
  Environment environment{{"XDG_CONFIG_HOME", folder.path()}, {"FOREBAY_PROFILE", "/no/such"}};
  EXPECT_EQ(profile_in_force(environment), "/no/such");
  EXPECT_EQ(profile_to_write(environment), "/no/such");
  environment.back().second = "";
  EXPECT_EQ(profile_in_force(environment), "") << "empty: none";
  EXPECT_EQ(profile_to_write(environment), "");
}

}  // namespace
}  // namespace forebay::model
