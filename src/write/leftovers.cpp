// SPDX-License-Identifier: Apache-2.0
#include "write/leftovers.hpp"

#include <cstdint>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>
#include <vector>

#include "write/data_folder.hpp"

namespace forebay::write {

void remove_leftovers(const std::string& folder, std::span<const format::StepEntry> steps) {
  std::set<std::uint64_t> alive;
  for (const format::StepEntry& step : steps)
    alive.insert(step.group);
  std::error_code ignored;
  std::vector<std::filesystem::path> leftovers;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const std::string file_name = entry.path().filename().string();
    std::string_view rest = file_name;
    const bool is_free = rest.starts_with(kFreePrefix);
    if (is_free) rest.remove_prefix(kFreePrefix.size());
    const auto name = format::data_file_named(rest);
    if (name && (is_free || !alive.contains(name->group))) leftovers.push_back(entry.path());
  }
  for (const auto& path : leftovers)
    std::filesystem::remove(path, ignored);
}

}  // namespace forebay::write
