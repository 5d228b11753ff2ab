// SPDX-License-Identifier: Apache-2.0
// On what a folder lies: file system, block device, free space, and what direct access asks for.
// The same program runs at a different speed on each, so doctor and benchmarks both say it.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace forebay::probe {

/// The disk under a file system, where there is one.
struct BlockDevice {
  std::string name;       ///< "vda"
  std::string model;      ///< what the maker calls it; often empty
  std::string scheduler;  ///< "none", "mq-deadline", ...
  bool rotational = false;
  std::uint64_t logical_block_bytes = 0;
  std::uint64_t request_bytes_max = 0;  ///< largest request the kernel sends to it
};

struct FileSystem {
  std::filesystem::path folder;  ///< absolute
  std::filesystem::path mount_point;
  std::string type;    ///< "ext4", "tmpfs", "nfs4", ...
  std::string source;  ///< what is mounted: "/dev/vda", "server:/export"
  std::uint64_t total_bytes = 0;
  std::uint64_t free_bytes = 0;       ///< what this user may still write
  std::optional<BlockDevice> device;  ///< nothing for memory and network file systems
};

/// Fails with kNotFound if there is no such folder.
Result<FileSystem> describe_file_system(const std::filesystem::path& folder);

/// What direct access (O_DIRECT) of files in a folder asks for.
struct DirectAccess {
  bool possible = false;
  std::uint64_t memory_alignment_bytes = 0;
  std::uint64_t offset_alignment_bytes = 0;
  std::string refusal;  ///< why it is not possible
};

/// Finds out with an unnamed temporary file in `folder`, which must be writable.
Result<DirectAccess> probe_direct_access(const std::filesystem::path& folder);

nlohmann::json to_json(const FileSystem& file_system);

}  // namespace forebay::probe
