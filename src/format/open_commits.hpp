// SPDX-License-Identifier: Apache-2.0
// open_commits(): opens `commits` of a dataset, with a precise Error if it is missing.
#pragma once

#include <memory>
#include <string>

#include "storage/file.hpp"

namespace forebay::format {

/// Opens `commits` of a directory. kNotFound names the file if it is missing but data files exist,
/// from which `forebay repair` can rebuild it. kNotFound names the directory if that is no dataset,
/// or does not exist. Blocks.
Result<std::unique_ptr<storage::File>> open_commits(const std::string& directory);

}  // namespace forebay::format
