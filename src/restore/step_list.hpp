// SPDX-License-Identifier: Apache-2.0
// StepList: which steps a dataset has, as all ranks see it that open it together: one of them reads
// `commits`, and tells the others.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "format/commits_file.hpp"

namespace forebay::restore {

struct StepList {
  format::DatasetId dataset = {};
  std::vector<format::StepEntry> steps = {};  ///< by rising numbers
  std::vector<Error> damages = {};            ///< on the rank that read them

  const format::StepEntry* find(std::uint64_t step) const noexcept;
};

/// Reads `commits` of a dataset. kNotFound if there is none. Blocks.
Result<format::LoadedCommits> read_commits(const std::string& folder);

/// Collective. The same list, or the same Error, on all ranks.
Result<StepList> read_together(comm::Communicator& ranks, const std::string& folder);

}  // namespace forebay::restore
