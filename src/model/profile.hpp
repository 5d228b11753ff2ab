// SPDX-License-Identifier: Apache-2.0
// Profiles: what was learnt about the storage of one machine, kept in a file of
// docs/formats/profile.md so that it is learnt once.
#pragma once

#include <forebay/config.hpp>
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
  std::string source = {};
  std::string host = {};  ///< a pattern of names; empty: any host

  friend bool operator==(const ProfileMount&, const ProfileMount&) = default;
};

struct Profile {
  std::vector<ProfileMount> mounts;
};

/// `path` is for errors, which are of class kInvalidArgument and name the line.
Result<Profile> parse_profile(std::string_view text, const std::string& path);

/// The same for a file.
Result<Profile> load_profile(const std::string& path);

/// Where somebody wants to know which entry counts.
struct ProfilePlace {
  std::filesystem::path folder;  ///< absolute and without symbolic links
  std::string host;
};

/// The entry for the files of a folder, by the rules of the page, but that for devices, which the
/// caller sees to: of those for this host that hold it the one with the longest path; null if there
/// is none. Pure.
const ProfileMount* find_mount(const Profile& profile, const ProfilePlace& place);

/// "/scratch/" is "/scratch". Pure.
bool is_same_place(const std::filesystem::path& one, const std::filesystem::path& other);

/// Whether an entry for `pattern` holds on the host of this name. Pure.
bool is_host(const std::string& pattern, const std::string& name);

/// The name of this host, as `uname -n` says it.
std::string name_of_this_host();

}  // namespace forebay::model
