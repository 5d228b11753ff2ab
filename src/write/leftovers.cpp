// SPDX-License-Identifier: Apache-2.0
#include "write/leftovers.hpp"

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
#include "base/folder_entries.hpp"
#include "format/catalog.hpp"
#include "write/data_folder.hpp"

namespace forebay::write {

namespace {

constexpr mode_t kFileMode = 0666;  ///< less what the umask takes
/// Nobody counts so far: such a name is none of ours.
constexpr std::uint64_t kGroupsMax = std::uint64_t{1} << 62U;

struct DataEntry {
  std::string path;
  format::DataFileName name;
  bool is_free = false;
};

std::vector<DataEntry> data_files_in(const std::string& folder) {
  std::vector<DataEntry> found;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const std::string file_name = entry.path().filename().string();
    std::string_view rest = file_name;
    const bool is_free = rest.starts_with(kFreePrefix);
    if (is_free) rest.remove_prefix(kFreePrefix.size());
    if (const auto name = format::data_file_named(rest))
      found.push_back({entry.path().string(), *name, is_free});
  }
  return found;
}

}  // namespace

Result<std::uint64_t> claim_groups(const std::string& folder,
                                   std::span<const format::StepEntry> steps) {
  std::uint64_t used = 0;
  for (const format::StepEntry& step : steps)
    used = std::max(used, step.group + 1);
  for (const DataEntry& file : data_files_in(folder))
    if (file.name.group < kGroupsMax) used = std::max(used, file.name.group + 1);
  std::uint64_t first = (used + kGroupsOfOpening - 1) / kGroupsOfOpening * kGroupsOfOpening;
  for (;; first += kGroupsOfOpening) {
    const std::string path = format::data_path(folder, {first, 0});
    // O_EXCL: a file that another opening makes at this moment is not shared, and no link followed.
    const Descriptor made = open_path(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kFileMode);
    if (made) return first;
    if (errno != EEXIST) return failure(system_error({.operation = "create", .path = path}, errno));
  }
}

void remove_leftovers(const std::string& folder,
                      std::span<const format::StepEntry> steps,
                      std::uint64_t end_group) {
  std::set<std::uint64_t> alive;
  for (const format::StepEntry& step : steps)
    alive.insert(step.group);
  for (const DataEntry& file : data_files_in(folder)) {
    const bool is_needed = !file.is_free && alive.contains(file.name.group);
    if (!is_needed && file.name.group < end_group) std::ignore = remove_entry(file.path);
  }
}

}  // namespace forebay::write
