// SPDX-License-Identifier: Apache-2.0
// ScannedSteps: content of indexes found in data files. Repair makes step tables of it.
#pragma once

#include <map>
#include <utility>

#include "format/index.hpp"

namespace forebay::format {

/// The kept part of an index: all indexes together may exceed memory.
struct ScannedIndex {
  DatasetId dataset = {};
  StepMetadata metadata = {};
  std::uint64_t raw_bytes = 0;
  std::uint64_t stored_bytes = 0;
  Reference index = {};
};
/// All indexes of one step in one group, by file; the last index in each file counts.
using ScannedIndexes = std::map<std::uint32_t, ScannedIndex>;
/// By step and group.
using ScannedSteps = std::map<std::pair<std::uint64_t, std::uint64_t>, ScannedIndexes>;
using ScannedStep = ScannedSteps::value_type;

/// Replaces an earlier index of the same step in the same file.
void add_index(ScannedSteps& steps, const Index& index);

/// As in a step table. At least one file must exist.
StepEntry entry_of(const ScannedStep& found);

/// Removes all files but those of the dataset with the most indexes, and returns that dataset.
/// Steps may be left without a file. No value if there is no index.
std::optional<DatasetId> keep_most_frequent_dataset(ScannedSteps& steps);

}  // namespace forebay::format
