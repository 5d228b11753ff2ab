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

/// The number after a word, as in /proc/meminfo and memory.stat.
Bytes field_value(const std::filesystem::path& path, std::string_view requested) {
  std::ifstream lines(path);
  for (std::string word; lines >> word;) {
    std::uint64_t number = 0;
    if (word == requested && lines >> number) return number;
    lines.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return std::nullopt;
}

/// The content of a file with one number. No value if it is "max" or the file does not exist.
Bytes file_value(const std::filesystem::path& path) {
  std::uint64_t number = 0;
  return std::ifstream(path) >> number ? Bytes(number) : std::nullopt;
}

/// File names of the two versions of control groups.
struct CgroupFiles {
  std::string_view mount;
  std::string_view limit;
  std::string_view used;
  std::string_view cache;
};
constexpr CgroupFiles kCgroupV2{"sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"};
constexpr CgroupFiles kCgroupV1{"sys/fs/cgroup/memory", "memory.limit_in_bytes",
                                "memory.usage_in_bytes", "total_inactive_file"};

Bytes group_available(const std::filesystem::path& group, const CgroupFiles& names) {
  const Bytes limit = file_value(group / names.limit);
  const Bytes used = file_value(group / names.used);
  if (!limit || !used) return std::nullopt;
  const std::uint64_t cache = field_value(group / "memory.stat", names.cache).value_or(0);
  const std::uint64_t needed = *used - std::min(cache, *used);
  return *limit - std::min(needed, *limit);
}

Bytes min_known(Bytes one, Bytes other) {
  if (!one || !other) return one ? one : other;
  return std::min(*one, *other);
}

/// Available bytes of a group and all its ancestors, which have limits, too. In a container, its
/// own group may be mounted as the root.
Bytes hierarchy_available(const std::filesystem::path& mount,
                          std::string path,
                          const CgroupFiles& names) {
  Bytes left = group_available(mount, names);
  while (path.size() > 1) {
    left = min_known(left, group_available(mount / path.substr(1), names));
    path.resize(path.rfind('/'));
  }
  return left;
}

/// Available bytes by a line of /proc/self/cgroup: "0::/path" (v2), or "5:memory:/path" among
/// others (v1).
Bytes available_by_entry(const std::filesystem::path& root, const std::string& line) {
  const std::size_t first = line.find(':');
  const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
  if (second == std::string::npos) return std::nullopt;
  const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
  const bool is_v2 = controllers == ",,";
  if (!is_v2 && controllers.find(",memory,") == std::string::npos) return std::nullopt;
  const CgroupFiles& names = is_v2 ? kCgroupV2 : kCgroupV1;
  return hierarchy_available(root / names.mount, line.substr(second + 1), names);
}

}  // namespace

std::optional<std::uint64_t> free_memory_bytes(const std::string& root) {
  const std::filesystem::path top(root + "/");
  Bytes left = field_value(top / "proc/meminfo", "MemAvailable:");
  if (left) *left <<= 10U;
  std::ifstream groups(top / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);)
    left = min_known(left, available_by_entry(top, line));
  return left;
}

}  // namespace forebay
