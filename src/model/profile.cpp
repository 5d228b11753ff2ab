// SPDX-License-Identifier: Apache-2.0
#include "model/profile.hpp"

#include <algorithm>
#include <utility>

#include <fnmatch.h>
#include <sys/utsname.h>
#include <toml++/toml.h>

#include "base/text_file.hpp"
#include "base/toml_nesting.hpp"
#include "model/machine_reader.hpp"

namespace forebay::model {

namespace {

constexpr std::int64_t kProfileFormat = 1;
constexpr std::string_view kOperation = "read profile";

void read_format(const toml::table& root, ParseErrors& errors) {
  const toml::node* const node = root.get("format");
  const auto* const number = node == nullptr ? nullptr : node->as_integer();
  if (number != nullptr && number->get() == kProfileFormat) return;
  errors.add(node == nullptr ? root.source() : node->source(),
             "this format is unknown: write \"format = 1\" at the top");
}

/// The string of a key; empty if absent.
std::string string_value(const toml::table& table, std::string_view key, ParseErrors& errors) {
  const toml::node* const node = table.get(key);
  if (node == nullptr) return {};
  if (const auto* const text = node->as_string()) return text->get();
  errors.add(node->source(), "mounts." + std::string(key) + " is not a string");
  return {};
}

ProfileMount read_mount(const toml::table& table, ParseErrors& errors) {
  reject_unknown_keys(table, "mounts.", {"path", "host", "in_flight_bytes", "source"}, errors);
  ProfileMount mount{.path = string_value(table, "path", errors),
                     .source = string_value(table, "source", errors),
                     .host = string_value(table, "host", errors)};
  mount.path = mount.path.lexically_normal();
  if (!mount.path.is_absolute())
    errors.add(table.source(), "mounts.path is missing or not absolute: write a path from /");
  TableReader reader(table, "mounts.", errors);
  reader.size("in_flight_bytes", mount.in_flight_bytes,
              {kProfileInFlightBytesMin, kProfileInFlightBytesMax}, SizeRule::kAny);
  if (table.get("in_flight_bytes") == nullptr)
    errors.add(table.source(), "mounts.in_flight_bytes is missing: add it");
  return mount;
}

std::vector<ProfileMount> read_mounts(const toml::table& root, ParseErrors& errors) {
  const toml::node* const node = root.get("mounts");
  if (node == nullptr) return {};
  const auto* const entries = node->as_array();
  std::vector<ProfileMount> mounts;
  for (std::size_t i = 0; entries != nullptr && i < entries->size(); ++i) {
    const auto* const table = entries->get(i)->as_table();
    if (table != nullptr) mounts.push_back(read_mount(*table, errors));
  }
  const bool are_tables = entries != nullptr && mounts.size() == entries->size();
  if (!are_tables) errors.add(node->source(), "mounts are not tables: write [[mounts]] for each");
  return mounts;
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
  if (const Status flat = check_toml_nesting(text, kOperation, path); !flat)
    return failure(flat.error());
  ParseErrors errors(path, std::string(kOperation));
  Profile profile;
  try {
    const toml::table root = toml::parse(text, std::string_view(path));
    read_format(root, errors);
    reject_unknown_keys(root, "", {"format", "mounts"}, errors);
    profile.mounts = read_mounts(root, errors);
  } catch (const toml::parse_error& error) {
    errors.add(error.source(), std::string(error.description()));
  }
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

std::string local_host_name() {
  utsname names{};
  return ::uname(&names) == 0 ? names.nodename : std::string();
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
