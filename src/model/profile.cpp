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

void read_format(const toml::table& root, Complaints& complaints) {
  const toml::node* const node = root.get("format");
  const auto* const number = node == nullptr ? nullptr : node->as_integer();
  if (number != nullptr && number->get() == kProfileFormat) return;
  complaints.add(node == nullptr ? root.source() : node->source(),
                 "this is no format that is known here: write \"format = 1\" at the top");
}

/// The text of a key; empty if it is not there.
std::string text_of(const toml::table& table, std::string_view key, Complaints& complaints) {
  const toml::node* const node = table.get(key);
  if (node == nullptr) return {};
  if (const auto* const text = node->as_string()) return text->get();
  complaints.add(node->source(), "mounts." + std::string(key) + " is no text");
  return {};
}

ProfileMount read_mount(const toml::table& table, Complaints& complaints) {
  reject_unknown_keys(table, "mounts.", {"path", "host", "in_flight_bytes", "source"}, complaints);
  ProfileMount mount{.path = text_of(table, "path", complaints),
                     .source = text_of(table, "source", complaints),
                     .host = text_of(table, "host", complaints)};
  mount.path = mount.path.lexically_normal();
  if (!mount.path.is_absolute())
    complaints.add(table.source(), "mounts.path is missing or not absolute: write a path from /");
  TableReader reader(table, "mounts.", complaints);
  reader.size("in_flight_bytes", mount.in_flight_bytes,
              {kProfileInFlightBytesMin, kProfileInFlightBytesMax}, SizeRule::kAny);
  if (table.get("in_flight_bytes") == nullptr)
    complaints.add(table.source(), "mounts.in_flight_bytes is missing: add it");
  return mount;
}

std::vector<ProfileMount> read_mounts(const toml::table& root, Complaints& complaints) {
  const toml::node* const node = root.get("mounts");
  if (node == nullptr) return {};
  const auto* const entries = node->as_array();
  std::vector<ProfileMount> mounts;
  for (std::size_t i = 0; entries != nullptr && i < entries->size(); ++i) {
    const auto* const table = entries->get(i)->as_table();
    if (table != nullptr) mounts.push_back(read_mount(*table, complaints));
  }
  const bool are_tables = entries != nullptr && mounts.size() == entries->size();
  if (!are_tables)
    complaints.add(node->source(), "mounts are no tables: write [[mounts]] for each");
  return mounts;
}

/// `path` without what is after its last name ("/scratch/" is "/scratch").
std::filesystem::path without_end(const std::filesystem::path& path) {
  return path.has_filename() ? path : path.parent_path();
}

bool holds(const std::filesystem::path& folder, const std::filesystem::path& file) {
  const std::filesystem::path place = without_end(folder);
  const auto parts = std::ranges::mismatch(place, file);
  return parts.in1 == place.end();
}

/// Of two entries that hold one folder, the longer path; of equal ones that which names a host.
bool counts_before(const ProfileMount& one, const ProfileMount& other) {
  if (!is_same_place(one.path, other.path)) return holds(other.path, without_end(one.path));
  return !one.host.empty() && other.host.empty();
}

}  // namespace

Result<Profile> parse_profile(std::string_view text, const std::string& path) {
  if (const Status flat = check_toml_nesting(text, kOperation, path); !flat)
    return failure(flat.error());
  Complaints complaints(path, std::string(kOperation));
  Profile profile;
  try {
    const toml::table root = toml::parse(text, std::string_view(path));
    read_format(root, complaints);
    reject_unknown_keys(root, "", {"format", "mounts"}, complaints);
    profile.mounts = read_mounts(root, complaints);
  } catch (const toml::parse_error& error) {
    complaints.add(error.source(), std::string(error.description()));
  }
  if (complaints.first()) return failure(*complaints.first());
  return profile;
}

Result<Profile> load_profile(const std::string& path) {
  const auto text = read_text_file(path, kOperation);
  if (!text) return failure(text.error());
  return parse_profile(*text, path);
}

bool is_same_place(const std::filesystem::path& one, const std::filesystem::path& other) {
  return without_end(one) == without_end(other);
}

bool is_host(const std::string& pattern, const std::string& name) {
  const std::string first_part = name.substr(0, name.find('.'));
  return ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0 ||
         ::fnmatch(pattern.c_str(), first_part.c_str(), 0) == 0;
}

std::string name_of_this_host() {
  utsname names{};
  return ::uname(&names) == 0 ? names.nodename : std::string();
}

const ProfileMount* find_mount(const Profile& profile, const ProfilePlace& place) {
  const ProfileMount* best = nullptr;
  for (const ProfileMount& mount : profile.mounts) {
    const bool is_here = mount.host.empty() || is_host(mount.host, place.host);
    if (!is_here || !holds(mount.path, place.folder)) continue;
    if (best == nullptr || !counts_before(*best, mount)) best = &mount;
  }
  return best;
}

}  // namespace forebay::model
