// SPDX-License-Identifier: Apache-2.0
// Whether a dataset is as it was written, and making its tables anew where it is not: the documents
// of `verify` and `repair`.
#pragma once

#include "command/progress.hpp"
#include "tools/dataset/listing.hpp"

namespace forebay::dataset_tool {

struct VerifyRequest {
  std::string path;
  std::optional<std::uint64_t> step = {};
  unsigned threads = 1;
  command::ProgressMode progress = command::ProgressMode::kSilent;
};

/// All damage that there is; "ok" is whether there is none. A folder whose commits are gone has one
/// finding; an Error is only for what is no dataset at all, or has not this step. Blocks.
Result<Json> verify(const VerifyRequest& request);

enum class RepairMode : std::uint8_t { kLookOnly, kWrite };

/// "ok" is whether all steps that were found are in the tables afterwards, or were dropped, and no
/// file has damage that is as it was. With kWrite as write::repair(). Blocks.
Result<Json> repair_tables(const std::string& path,
                           RepairMode mode,
                           command::ProgressMode progress);

}  // namespace forebay::dataset_tool
