// SPDX-License-Identifier: Apache-2.0
// The storage of a directory: file system, block device, free space, and requirements of direct
// access. Doctor and benchmarks report it, because programs run at a different speed on each.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace forebay::probe {

/// The disk of a file system, if it has one.
struct BlockDevice {
  std::string name;       ///< "vda"
  std::string model;      ///< the maker's name; often empty
  std::string scheduler;  ///< "none", "mq-deadline", ...
  bool rotational = false;
  std::uint64_t logical_block_bytes = 0;
  std::uint64_t request_bytes_max = 0;  ///< largest request that the kernel sends to it
};

struct FileSystemInfo {
  std::filesystem::path directory;  ///< absolute
  std::filesystem::path mount_point;
  std::string type;    ///< "ext4", "tmpfs", "nfs4", ...
  std::string source;  ///< the mounted device: "/dev/vda", "server:/export"
  std::uint64_t total_bytes = 0;
  std::uint64_t free_bytes = 0;       ///< that this user may still write
  std::optional<BlockDevice> device;  ///< empty for memory and network file systems
};

/// Fails with kNotFound if the directory does not exist.
Result<FileSystemInfo> describe_file_system(const std::filesystem::path& directory);

/// Requirements of direct access (O_DIRECT) to files in a directory.
struct DirectAccess {
  bool possible = false;
  std::uint64_t memory_alignment_bytes = 0;
  std::uint64_t offset_alignment_bytes = 0;
  std::string reason;  ///< why it is not possible
};

/// Tests with an unnamed temporary file in `directory`, which must be writable.
Result<DirectAccess> probe_direct_access(const std::filesystem::path& directory);

nlohmann::json to_json(const FileSystemInfo& file_system);

}  // namespace forebay::probe
