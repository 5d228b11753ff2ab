// SPDX-License-Identifier: Apache-2.0
// Profiles: what was learnt about the storage of one machine, kept in a file of
// docs/formats/profile.md so that it is learnt once.
#pragma once

#include <forebay/error.hpp>
#include <forebay/range.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace forebay::model {

inline constexpr std::uint64_t kProfileInFlightBytesMin = 64_KiB;
inline constexpr std::uint64_t kProfileInFlightBytesMax = 16_GiB;

/// A place where files lie.
struct ProfileMount {
  std::filesystem::path path;  ///< absolute
  std::uint64_t in_flight_bytes = 0;
  std::string source;

  friend bool operator==(const ProfileMount&, const ProfileMount&) = default;
};

struct Profile {
  std::vector<ProfileMount> mounts;
};

/// `path` is for errors, which are of class kInvalidArgument and name the line.
Result<Profile> parse_profile(std::string_view text, const std::string& path);

/// The same for a file.
Result<Profile> load_profile(const std::string& path);

/// The place of a file, whose path is absolute and without symbolic links: of those that hold it
/// the one with the longest path; null if none does. Pure.
const ProfileMount* find_mount(const Profile& profile, const std::filesystem::path& file);

}  // namespace forebay::model
