// SPDX-License-Identifier: Apache-2.0
// StepList: the steps of a dataset, the same on all ranks that open it together: one rank reads
// `commits` and broadcasts them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "format/load_commits.hpp"

namespace forebay::restore {

struct StepList {
  format::DatasetId dataset = {};
  std::vector<format::StepEntry> steps = {};  ///< by increasing number
  std::vector<Error> errors = {};             ///< on the rank that read the list

  const format::StepEntry* find(std::uint64_t step) const noexcept;
};

/// Reads `commits` of a dataset. Fails with kNotFound if it does not exist. Blocks.
Result<format::LoadedCommits> read_commits(const std::string& directory);

/// Collective. Returns the same list, or the same Error, on all ranks.
Result<StepList> read_step_list(comm::Communicator& ranks, const std::string& directory);

}  // namespace forebay::restore
