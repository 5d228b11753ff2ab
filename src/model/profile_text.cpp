// SPDX-License-Identifier: Apache-2.0
#include "model/profile_text.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include <toml++/toml.h>

#include "model/machine_text.hpp"

namespace forebay::model {

namespace {

constexpr std::string_view kInFlight = "in_flight_bytes";
constexpr std::string_view kSource = "source";

/// A replacement of a part of the text.
struct Edit {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::string text;
};

std::string entry_text(const ProfileMount& mount) {
  std::string text = "[[mounts]]\npath = " + toml_string(mount.path.string()) + "\n";
  if (!mount.host.empty()) text += "host = " + toml_string(mount.host) + "\n";
  text += "in_flight_bytes = " + toml_string(size_text(mount.in_flight_bytes)) + "\n";
  if (!mount.source.empty()) text += "source = " + toml_string(mount.source) + "\n";
  return text;
}

bool is_utf8_continuation(char byte) {
  constexpr unsigned kLeadingBits = 0xC0;
  constexpr unsigned kContinuation = 0x80;
  return (static_cast<unsigned char>(byte) & kLeadingBits) == kContinuation;
}

/// Lines and columns count from 1, columns in characters.
std::size_t byte_offset(std::string_view text, const toml::source_position& place) {
  std::size_t at = 0;
  for (toml::source_index line = 1; line < place.line; ++line)
    at = std::min(text.find('\n', at), text.size() - 1) + 1;
  for (toml::source_index column = 1; column < place.column && at < text.size(); ++column) {
    ++at;
    while (at < text.size() && is_utf8_continuation(text[at]))
      ++at;
  }
  return at;
}

Edit replace_node(std::string_view text, const toml::node& node, std::string value) {
  return {byte_offset(text, node.source().begin), byte_offset(text, node.source().end),
          std::move(value)};
}

/// Inserts after the number, in the syntax of the entry.
Edit insert_source(std::string_view text, const toml::table& entry, const std::string& value) {
  const toml::source_region place = entry.get(kInFlight)->source();
  const std::string line = std::string(kSource) + " = " + value;
  if (entry.is_inline()) {
    const std::size_t end = byte_offset(text, place.end);
    return {end, end, ", " + line};
  }
  const std::size_t begin = text.rfind('\n', byte_offset(text, place.begin)) + 1;
  const std::size_t indent = text.find_first_not_of(" \t", begin) - begin;
  const std::size_t end = std::min(text.find('\n', begin), text.size());
  return {end, end, "\n" + std::string(text.substr(begin, indent)) + line};
}

std::vector<Edit> make_edits(std::string_view text,
                             const toml::table& entry,
                             const ProfileMount& mount) {
  const std::string source = toml_string(mount.source);
  std::vector<Edit> edits{
      replace_node(text, *entry.get(kInFlight), toml_string(size_text(mount.in_flight_bytes)))};
  if (const toml::node* const existing = entry.get(kSource))
    edits.push_back(replace_node(text, *existing, source));
  else
    edits.push_back(insert_source(text, entry, source));
  return edits;
}

/// Applies edits from the last to the first, so that none moves another.
std::string apply_edits(std::string text, std::vector<Edit> edits) {
  std::ranges::sort(edits, std::ranges::greater(), &Edit::begin);
  for (const Edit& edit : edits)
    text.replace(edit.begin, edit.end - edit.begin, edit.text);
  return text;
}

/// The entry with exactly this path that applies to the host.
std::optional<std::size_t> find_entry(const Profile& profile,
                                      const std::filesystem::path& path,
                                      const std::string& host) {
  const ProfileMount* const found = find_mount(profile, {.directory = path, .host = host});
  if (found == nullptr || !is_same_path(found->path, path)) return std::nullopt;
  return static_cast<std::size_t>(found - profile.mounts.data());
}

/// The changed text must have exactly the expected entries, because the user wrote most of it.
Status check(const ProfileText& profile, const Profile& expected, const ProfileMount& mount) {
  const auto read = parse_profile(profile.text, profile.path);
  if (read && read->mounts == expected.mounts) return {};
  return failure({.kind = ErrorClass::kInvalidArgument,
                  .operation = "change profile",
                  .path = profile.path,
                  .cause = "no entry can be added to its mounts as written; write "
                           "[[mounts]] for each, or add this one by hand: " +
                           entry_text(mount)});
}

}  // namespace

std::string make_profile(const ProfileMount& mount) {
  return "# Measured limits of storage: docs/formats/profile.md of Forebay.\nformat = 1\n\n" +
         entry_text(mount);
}

Result<std::string> update_mount(const ProfileText& profile,
                                 const ProfileMount& mount,
                                 const std::string& host) {
  auto known = parse_profile(profile.text, profile.path);
  if (!known) return failure(known.error());
  std::string text(profile.text);
  if (const auto at = find_entry(*known, mount.path, host)) {
    const toml::table root = toml::parse(profile.text);
    text = apply_edits(std::move(text),
                       make_edits(profile.text, *root["mounts"][*at].as_table(), mount));
    known->mounts[*at].in_flight_bytes = mount.in_flight_bytes;
    known->mounts[*at].source = mount.source;
  } else {
    text += (text.ends_with('\n') ? "\n" : "\n\n") + entry_text(mount);
    known->mounts.push_back(mount);
  }
  if (const Status checked = check({text, profile.path}, *known, mount); !checked)
    return failure(checked.error());
  return text;
}

}  // namespace forebay::model
