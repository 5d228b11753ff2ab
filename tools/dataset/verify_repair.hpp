// SPDX-License-Identifier: Apache-2.0
// The documents of `verify`, which checks that a dataset is as written, and of `repair`, which
// writes new tables for a damaged one.
#pragma once

#include "tools/dataset/listing.hpp"
#include "tools/probe/messages.hpp"

namespace forebay::dataset_tool {

struct VerifyRequest {
  std::string path;
  std::optional<std::uint64_t> step = {};
  unsigned threads = 1;
  probe::ProgressSink progress = {};
};

/// Finds all damage; "ok" is true if there is none. A directory without commits has one finding.
/// Fails only if the directory has no dataset, or the dataset does not have this step. Blocks.
Result<Json> verify(const VerifyRequest& request);

enum class RepairMode : std::uint8_t { kDryRun, kWrite };

/// "ok" is true if all steps that were found are in the tables afterwards or were dropped, and no
/// file has damage that remains. With kWrite, acts as write::repair(). Blocks.
Result<Json> repair_tables(const std::string& path,
                           RepairMode mode,
                           const probe::ProgressSink& progress = {});

}  // namespace forebay::dataset_tool
