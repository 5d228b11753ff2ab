// SPDX-License-Identifier: Apache-2.0
#include "model/profile_path.hpp"

#include <algorithm>
#include <filesystem>

#include <unistd.h>

namespace forebay::model {

namespace {

/// Null if it is not set, which differs from set and empty.
const std::string* find_variable(const Environment& environment, std::string_view name) {
  const auto found = std::ranges::find(environment, name, &Environment::value_type::first);
  return found == environment.end() ? nullptr : &found->second;
}

constexpr std::string_view kVariable = "FOREBAY_PROFILE";

}  // namespace

std::string default_profile_path(const Environment& environment) {
  const std::filesystem::path name = "forebay/profile.toml";
  const std::string* const config = find_variable(environment, "XDG_CONFIG_HOME");
  if (config != nullptr && std::filesystem::path(*config).is_absolute()) return *config / name;
  const std::string* const home = find_variable(environment, "HOME");
  if (home == nullptr || !std::filesystem::path(*home).is_absolute()) return {};
  return std::filesystem::path(*home) / ".config" / name;
}

std::string user_machine_directory(const Environment& environment) {
  const std::string profile = default_profile_path(environment);
  if (profile.empty()) return profile;
  return std::filesystem::path(profile).parent_path() / "machines";
}

std::string active_profile_path(const Environment& environment) {
  if (const std::string* const named = find_variable(environment, kVariable)) return *named;
  std::string place = default_profile_path(environment);
  return !place.empty() && ::access(place.c_str(), R_OK) == 0 ? place : std::string();
}

std::string calibration_profile_path(const Environment& environment) {
  const std::string* const named = find_variable(environment, kVariable);
  return named != nullptr ? *named : default_profile_path(environment);
}

}  // namespace forebay::model
