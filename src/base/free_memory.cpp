// SPDX-License-Identifier: Apache-2.0
#include "base/free_memory.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string_view>

namespace forebay {

namespace {

using Bytes = std::optional<std::uint64_t>;

/// The number behind a word, as in /proc/meminfo and memory.stat.
Bytes number_behind(const std::filesystem::path& path, std::string_view wanted) {
  std::ifstream lines(path);
  for (std::string word; lines >> word;) {
    std::uint64_t number = 0;
    if (word == wanted && lines >> number) return number;
    lines.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return std::nullopt;
}

/// A file of one number; none if it is "max" or not there.
Bytes number_in(const std::filesystem::path& path) {
  std::uint64_t number = 0;
  return std::ifstream(path) >> number ? Bytes(number) : std::nullopt;
}

/// How the two versions name their files.
struct Names {
  std::string_view mount;
  std::string_view limit;
  std::string_view used;
  std::string_view cache;
};
constexpr Names kSecond{"sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"};
constexpr Names kFirst{"sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
                       "total_inactive_file"};

Bytes left_in(const std::filesystem::path& group, const Names& names) {
  const Bytes limit = number_in(group / names.limit);
  const Bytes used = number_in(group / names.used);
  if (!limit || !used) return std::nullopt;
  const std::uint64_t cache = number_behind(group / "memory.stat", names.cache).value_or(0);
  const std::uint64_t needed = *used - std::min(cache, *used);
  return *limit - std::min(needed, *limit);
}

Bytes least(Bytes one, Bytes other) {
  if (!one || !other) return one ? one : other;
  return std::min(*one, *other);
}

/// A group and all above it have limits. In a container its own group may be mounted as the root.
Bytes left_in_all(const std::filesystem::path& mount, std::string path, const Names& names) {
  Bytes left = left_in(mount, names);
  while (path.size() > 1) {
    left = least(left, left_in(mount / path.substr(1), names));
    path.resize(path.rfind('/'));
  }
  return left;
}

/// A line of /proc/self/cgroup: "0::/path" (v2), or "5:memory:/path" among others (v1).
Bytes left_by(const std::filesystem::path& root, const std::string& line) {
  const std::size_t first = line.find(':');
  const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
  if (second == std::string::npos) return std::nullopt;
  const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
  const bool is_second = controllers == ",,";
  if (!is_second && controllers.find(",memory,") == std::string::npos) return std::nullopt;
  const Names& names = is_second ? kSecond : kFirst;
  return left_in_all(root / names.mount, line.substr(second + 1), names);
}

}  // namespace

std::optional<std::uint64_t> free_memory_bytes(const std::string& root) {
  const std::filesystem::path top(root + "/");
  Bytes left = number_behind(top / "proc/meminfo", "MemAvailable:");
  if (left) *left <<= 10U;
  std::ifstream groups(top / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);)
    left = least(left, left_by(top, line));
  return left;
}

}  // namespace forebay
