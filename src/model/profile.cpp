// SPDX-License-Identifier: Apache-2.0
#include "model/profile.hpp"

#include <algorithm>
#include <utility>

#include <fnmatch.h>

#include "base/text_file.hpp"
#include "model/machine_reader.hpp"

namespace forebay::model {

namespace {

constexpr std::int64_t kProfileFormat = 1;
constexpr std::string_view kOperation = "read profile";

ProfileMount read_mount(const toml::table& table, ParseErrors& errors) {
  reject_unknown_keys(table, "mounts.", {"path", "host", "in_flight_bytes", "source"}, errors);
  ProfileMount mount;
  std::string directory;
  TableReader reader(table, "mounts.", errors);
  reader.text("path", directory);
  reader.text("source", mount.source);
  reader.text("host", mount.host);
  mount.path = std::filesystem::path(directory).lexically_normal();
  if (!mount.path.is_absolute())
    errors.add(table.source(), "mounts.path is missing or not absolute: write a path from /");
  reader.size("in_flight_bytes", mount.in_flight_bytes,
              {kProfileInFlightBytesMin, kProfileInFlightBytesMax}, SizeRule::kAny);
  if (table.get("in_flight_bytes") == nullptr)
    errors.add(table.source(), "mounts.in_flight_bytes is missing: add it");
  return mount;
}

/// `path` without a trailing slash ("/scratch/" becomes "/scratch").
std::filesystem::path strip_trailing_slash(const std::filesystem::path& path) {
  return path.has_filename() ? path : path.parent_path();
}

bool is_ancestor(const std::filesystem::path& directory, const std::filesystem::path& file) {
  const std::filesystem::path place = strip_trailing_slash(directory);
  const auto parts = std::ranges::mismatch(place, file);
  return parts.in1 == place.end();
}

/// Of two entries for one directory, the longer path precedes; of equal paths, the one with a host.
bool has_precedence(const ProfileMount& one, const ProfileMount& other) {
  if (!is_same_path(one.path, other.path))
    return is_ancestor(other.path, strip_trailing_slash(one.path));
  return !one.host.empty() && other.host.empty();
}

}  // namespace

Result<Profile> parse_profile(std::string_view text, const std::string& path) {
  const Result<toml::table> root = parse_toml(text, path, kOperation);
  if (!root) return failure(root.error());
  ParseErrors errors(path, std::string(kOperation));
  check_format(*root, kProfileFormat, errors);
  reject_unknown_keys(*root, "", {"format", "mounts"}, errors);
  Profile profile{.mounts = read_tables(*root, "mounts", read_mount, errors)};
  if (errors.first()) return failure(*errors.first());
  return profile;
}

Result<Profile> load_profile(const std::string& path) {
  const auto text = read_text_file(path, kOperation);
  if (!text) return failure(text.error());
  return parse_profile(*text, path);
}

bool is_same_path(const std::filesystem::path& one, const std::filesystem::path& other) {
  return strip_trailing_slash(one) == strip_trailing_slash(other);
}

bool is_host_match(const std::string& pattern, const std::string& name) {
  const std::string first_part = name.substr(0, name.find('.'));
  return ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0 ||
         ::fnmatch(pattern.c_str(), first_part.c_str(), 0) == 0;
}

const ProfileMount* find_mount(const Profile& profile, const MountQuery& place) {
  const ProfileMount* best = nullptr;
  for (const ProfileMount& mount : profile.mounts) {
    const bool is_host_matching = mount.host.empty() || is_host_match(mount.host, place.host);
    if (!is_host_matching || !is_ancestor(mount.path, place.directory)) continue;
    if (best == nullptr || !has_precedence(*best, mount)) best = &mount;
  }
  return best;
}

}  // namespace forebay::model
