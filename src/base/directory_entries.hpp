// SPDX-License-Identifier: Apache-2.0
// Directory entries: removal, and durability, which a sync of the file does not give.
#pragma once

#include <forebay/error.hpp>

#include <string>

namespace forebay {

/// Removes a file. A missing file is no failure.
Status unlink_if_exists(const std::string& path);

/// Makes the entries of a directory durable: returns when they are on stable storage. Blocks.
Status sync_directory(const std::string& directory);
/// The same for the directory of `path`.
Status sync_parent_directory(const std::string& path);

}  // namespace forebay
