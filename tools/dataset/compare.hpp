// SPDX-License-Identifier: Apache-2.0
// Differences of two steps, as a JSON document.
#pragma once

#include "tools/dataset/listing.hpp"
#include "tools/probe/messages.hpp"

namespace forebay::dataset_tool {

/// One side of a comparison; the newest step if none is given.
struct Side {
  std::string path;
  std::optional<std::uint64_t> step = {};
};

struct CompareOptions {
  Side left;
  Side right;
  std::vector<std::string> fields = {};  ///< only these; all if none is given
  std::uint64_t blocks_max = 1000;       ///< maximum number of blocks that are listed for a field
  probe::ProgressSink progress = {};
};

/// "ok" is true if there are no differences. kNotFound for a field that neither step has. Blocks.
Result<Json> compare(const CompareOptions& options);

}  // namespace forebay::dataset_tool
