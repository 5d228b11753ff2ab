// SPDX-License-Identifier: Apache-2.0
// What indexes in data files tell of steps, for repair, which makes step tables of it.
#pragma once

#include <map>
#include <utility>

#include "format/index.hpp"

namespace forebay::format {

/// What is kept of an index, of which there may be more than memory holds.
struct FoundFile {
  DatasetId dataset = {};
  StepFacts facts = {};
  std::uint64_t raw_bytes = 0;
  std::uint64_t stored_bytes = 0;
  Reference index = {};
};
/// All that data files tell of one step in one group: the last index in each file counts.
using FoundFiles = std::map<std::uint32_t, FoundFile>;
/// By step and group.
using FoundSteps = std::map<std::pair<std::uint64_t, std::uint64_t>, FoundFiles>;
using FoundStep = FoundSteps::value_type;

/// In place of what the same file told of the step before.
void add(FoundSteps& steps, const Index& index);

/// As a step table has it. There is a file.
StepEntry entry_of(const FoundStep& found);

/// The dataset of which there are most indexes, of which alone the steps are afterwards; steps may
/// be left without a file. No value if there is no index.
std::optional<DatasetId> keep_most_frequent_dataset(FoundSteps& steps);

}  // namespace forebay::format
