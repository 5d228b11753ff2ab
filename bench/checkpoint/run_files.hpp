// SPDX-License-Identifier: Apache-2.0
// The files that a run left in its directory: sync, count, drop from the page cache, remove.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <filesystem>
#include <vector>

namespace forebay::bench::checkpoint {

/// Every file and directory below `directory`, and `directory`.
Result<std::vector<std::filesystem::path>> paths_to_sync(const std::filesystem::path& directory);

/// Syncs files and directories, several concurrently, so that the file system can combine its work.
/// Missing ones are skipped.
Status sync_each(const std::vector<std::filesystem::path>& paths);

/// Syncs everything below `directory`, and `directory`.
Status sync_all(const std::filesystem::path& directory);

/// Every file below `directory`.
Result<std::vector<std::filesystem::path>> files_below(const std::filesystem::path& directory);

/// Fails with kDamage unless the files below `directory` have `payload_bytes` together, and as much
/// allocated space on the disk: a long file may be a hole. Call it after a sync.
Status check_sizes(const std::filesystem::path& directory, std::uint64_t payload_bytes);

/// The number of files below `directory`.
std::uint64_t count_files(const std::filesystem::path& directory);

/// Syncs every file below `directory`, drops it from the page cache, and verifies that.
Status drop_all(const std::filesystem::path& directory);

/// Creates `directory`, or removes its content.
Status make_empty(const std::filesystem::path& directory);

/// The same on storage too, so that the next writer does not wait for the removal.
Status make_empty_on_storage(const std::filesystem::path& directory);

}  // namespace forebay::bench::checkpoint
