// SPDX-License-Identifier: Apache-2.0
#include "model/profile_path.hpp"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "base/testing.hpp"

namespace forebay::model {
namespace {

TEST(ProfilePath, default_is_in_the_configuration_directory) {
  EXPECT_EQ(default_profile_path({{"XDG_CONFIG_HOME", "/c"}, {"HOME", "/h"}}),
            "/c/forebay/profile.toml");
  EXPECT_EQ(default_profile_path({{"HOME", "/h"}}), "/h/.config/forebay/profile.toml");
  EXPECT_EQ(default_profile_path({{"XDG_CONFIG_HOME", "c"}, {"HOME", "/h"}}),
            "/h/.config/forebay/profile.toml");
  EXPECT_EQ(default_profile_path({{"HOME", ""}}), "");
  EXPECT_EQ(default_profile_path({}), "");
}

TEST(ProfilePath, default_is_used_if_it_exists) {
  const TemporaryDirectory directory;
  const Environment environment{{"XDG_CONFIG_HOME", directory.path()}};
  EXPECT_EQ(active_profile_path(environment), "");
  EXPECT_EQ(calibration_profile_path(environment), directory / "forebay/profile.toml");
  std::filesystem::create_directory(directory / "forebay");
  std::ofstream(directory / "forebay/profile.toml") << "format = 1\n";
  EXPECT_EQ(active_profile_path(environment), directory / "forebay/profile.toml");
}

TEST(ProfilePath, variable_precedes_the_default_even_if_missing) {
  const TemporaryDirectory directory;
  std::filesystem::create_directory(directory / "forebay");
  std::ofstream(directory / "forebay/profile.toml") << "format = 1\n";
  Environment environment{{"XDG_CONFIG_HOME", directory.path()}, {"FOREBAY_PROFILE", "/no/such"}};
  EXPECT_EQ(active_profile_path(environment), "/no/such");
  EXPECT_EQ(calibration_profile_path(environment), "/no/such");
  environment.back().second = "";
  EXPECT_EQ(active_profile_path(environment), "") << "empty: none";
  EXPECT_EQ(calibration_profile_path(environment), "");
}

}  // namespace
}  // namespace forebay::model
