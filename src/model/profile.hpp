// SPDX-License-Identifier: Apache-2.0
// Profiles: measured limits of storage, kept in a file (docs/formats/profile.md) so that they are
// measured once.
#pragma once

#include <forebay/error.hpp>
#include <forebay/range.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/config.hpp"

namespace forebay::model {

inline constexpr std::uint64_t kProfileInFlightBytesMin = 64_KiB;
inline constexpr std::uint64_t kProfileInFlightBytesMax = 16_GiB;

/// An entry for a directory of files.
struct ProfileMount {
  std::filesystem::path path;  ///< absolute
  std::uint64_t in_flight_bytes = 0;
  std::string source = {};
  std::string host = {};  ///< a pattern of host names; empty: all hosts

  friend bool operator==(const ProfileMount&, const ProfileMount&) = default;
};

struct Profile {
  std::vector<ProfileMount> mounts;
};

/// `path` is for errors, which have class kInvalidArgument and name the line.
Result<Profile> parse_profile(std::string_view text, const std::string& path);

/// The same for a file.
Result<Profile> load_profile(const std::string& path);

/// Directory and host for which an entry is searched.
struct MountQuery {
  std::filesystem::path directory;  ///< absolute and without symbolic links
  std::string host;
};

/// The entry for the files of a directory, by the rules of the page, except those about devices,
/// which the caller applies. Of the entries for this host that contain the directory, the one with
/// the longest path; null if there is none. Pure.
const ProfileMount* find_mount(const Profile& profile, const MountQuery& query);

/// Whether both are equal without a trailing slash: "/scratch/" equals "/scratch". Pure.
bool is_same_path(const std::filesystem::path& one, const std::filesystem::path& other);

/// Whether an entry for `pattern` applies to the host of this name. Pure.
bool is_host_match(const std::string& pattern, const std::string& name);

}  // namespace forebay::model
