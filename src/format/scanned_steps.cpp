// SPDX-License-Identifier: Apache-2.0
#include "format/scanned_steps.hpp"

#include <algorithm>

namespace forebay::format {

void add_index(ScannedSteps& steps, const Index& index) {
  const IndexHeader& head = index.header();
  const ScannedIndex file = {.dataset = head.id.dataset,
                             .metadata = head.metadata,
                             .raw_bytes = head.raw_bytes,
                             .stored_bytes = head.stored_bytes,
                             .index = index.reference()};
  steps[{head.id.step, head.id.group}].insert_or_assign(head.id.file, file);
}

StepEntry entry_of(const ScannedStep& found) {
  const StepMetadata& metadata = found.second.begin()->second.metadata;
  StepEntry entry = {.step = found.first.first,
                     .group = found.first.second,
                     .wall_ns = metadata.wall_ns,
                     .writers = metadata.writers,
                     .strategy = metadata.strategy};
  for (const auto& [number, file] : found.second) {
    entry.raw_bytes += file.raw_bytes;
    entry.stored_bytes += file.stored_bytes;
    entry.files.push_back({number, file.index});
  }
  return entry;
}

std::optional<DatasetId> keep_most_frequent_dataset(ScannedSteps& steps) {
  std::map<DatasetId, std::uint64_t> counts;
  for (const auto& [key, files] : steps)
    for (const auto& [number, file] : files)
      ++counts[file.dataset];
  const auto most =
      std::ranges::max_element(counts, {}, [](const auto& count) { return count.second; });
  if (most == counts.end()) return std::nullopt;
  for (auto& [key, files] : steps)
    std::erase_if(files, [&](const auto& file) { return file.second.dataset != most->first; });
  return most->first;
}

}  // namespace forebay::format
