// SPDX-License-Identifier: Apache-2.0
#include "write/garbage_collection.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>
#include <tuple>
#include <vector>

#include <fcntl.h>

#include "base/descriptor.hpp"
#include "base/directory_entries.hpp"
#include "format/catalog.hpp"
#include "write/dataset_directory.hpp"

namespace forebay::write {

namespace {

constexpr mode_t kFileMode = 0666;  ///< reduced by the umask
/// No dataset has as many groups: such a name is not a data file.
constexpr std::uint64_t kGroupsMax = std::uint64_t{1} << 62U;

struct DataEntry {
  std::string path;
  format::DataFileName name;
  bool is_free = false;
};

std::vector<DataEntry> data_files_in(const std::string& directory) {
  std::vector<DataEntry> found;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(directory, ignored)) {
    const std::string file_name = entry.path().filename().string();
    std::string_view rest = file_name;
    const bool is_free = rest.starts_with(kFreePrefix);
    if (is_free) rest.remove_prefix(kFreePrefix.size());
    if (const auto name = format::parse_data_file_name(rest))
      found.push_back({entry.path().string(), *name, is_free});
  }
  return found;
}

}  // namespace

Result<std::uint64_t> reserve_groups(const std::string& directory,
                                     std::span<const format::StepEntry> steps) {
  std::uint64_t used = 0;
  for (const format::StepEntry& step : steps)
    used = std::max(used, step.group + 1);
  for (const DataEntry& file : data_files_in(directory))
    if (file.name.group < kGroupsMax) used = std::max(used, file.name.group + 1);
  std::uint64_t first = (used + kGroupsPerOpen - 1) / kGroupsPerOpen * kGroupsPerOpen;
  for (;; first += kGroupsPerOpen) {
    const std::string path = format::data_path(directory, {first, 0});
    // O_EXCL: a file that another opening creates at this moment is not shared, and no link is
    // followed.
    const Descriptor made = open_path(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kFileMode);
    if (made) return first;
    if (errno != EEXIST) return failure(system_error({.operation = "create", .path = path}, errno));
  }
}

void collect_garbage(const std::string& directory,
                     std::span<const format::StepEntry> steps,
                     std::uint64_t end_group) {
  std::set<std::uint64_t> live_groups;
  for (const format::StepEntry& step : steps)
    live_groups.insert(step.group);
  for (const DataEntry& file : data_files_in(directory)) {
    const bool is_needed = !file.is_free && live_groups.contains(file.name.group);
    if (!is_needed && file.name.group < end_group) std::ignore = unlink_if_exists(file.path);
  }
}

}  // namespace forebay::write
