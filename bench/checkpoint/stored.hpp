// SPDX-License-Identifier: Apache-2.0
// What a run left in its folder: brought to storage whoever wrote it, counted, taken out of the
// page cache, removed.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <filesystem>
#include <vector>

namespace forebay::bench::checkpoint {

/// Every file and folder below `folder`, and itself.
Result<std::vector<std::filesystem::path>> paths_to_sync(const std::filesystem::path& folder);

/// Syncs files and folders, several at a time: what the file system does for all of them together,
/// it then does once. Those that are not there any more have nothing to lose.
Status sync_each(const std::vector<std::filesystem::path>& paths);

/// Both for all below `folder`.
Status sync_all(const std::filesystem::path& folder);

/// Every file below `folder`.
Result<std::vector<std::filesystem::path>> files_below(const std::filesystem::path& folder);

/// Fails with kDamage unless the files below `folder` have `payload_bytes` together, and as much
/// room on the disk: a file can be long and have nothing. After they were synced.
Status check_sizes(const std::filesystem::path& folder, std::uint64_t payload_bytes);

/// How many files lie below `folder`.
std::uint64_t count_files(const std::filesystem::path& folder);

/// Syncs and then drops every file below `folder` from the page cache, and looks that it is gone.
Status drop_all(const std::filesystem::path& folder);

/// Makes `folder` anew, with nothing in it.
Status make_empty(const std::filesystem::path& folder);

/// The same on storage too, so that who writes next does not wait for what was removed.
Status make_empty_on_storage(const std::filesystem::path& folder);

}  // namespace forebay::bench::checkpoint
