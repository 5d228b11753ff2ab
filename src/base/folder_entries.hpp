// SPDX-License-Identifier: Apache-2.0
// Names in folders: removing one, and making them durable, which a sync of the file does not.
#pragma once

#include <forebay/error.hpp>

#include <string>

namespace forebay {

/// One that is not there is no failure.
Status remove_entry(const std::string& path);

/// Returns when the names in the folder are on stable storage. Blocks.
Status sync_entries(const std::string& folder);
/// The same for the folder that holds `path`.
Status sync_entry(const std::string& path);

}  // namespace forebay
