// SPDX-License-Identifier: Apache-2.0
// Finds `commits` of a dataset, and says what is wrong where there is none.
#pragma once

#include <memory>
#include <string>

#include "storage/file.hpp"

namespace forebay::format {

/// Opens `commits` of a folder. kNotFound names the file if data files are there without it, of
/// which `forebay repair` makes it anew, and the folder if that is no dataset, or not there.
/// Blocks.
Result<std::unique_ptr<storage::File>> open_commits(const std::string& folder);

}  // namespace forebay::format
