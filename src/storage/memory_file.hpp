// SPDX-License-Identifier: Apache-2.0
// MemoryFile: a File whose bytes are in memory. Tests need no file system, and can shrink or grow
// it while it is read.
#pragma once

#include <mutex>
#include <vector>

#include "storage/file.hpp"

namespace forebay::storage {

/// Starts with a copy of `content`. Any thread, as every File.
class MemoryFile final : public File {
 public:
  MemoryFile(std::string path, std::vector<std::byte> content);

  const std::string& path() const noexcept override { return path_; }
  FileSystem file_system() const noexcept override { return FileSystem::kMemory; }
  Access access() const noexcept override { return Access::kBuffered; }
  std::size_t alignment_bytes() const noexcept override { return 1; }
  int descriptor() const noexcept override { return -1; }
  Result<std::uint64_t> size() const override;
  Result<std::size_t> read_at(std::span<std::byte> into, std::uint64_t offset_bytes) override;
  Result<std::size_t> write_at(std::span<const std::byte> from,
                               std::uint64_t offset_bytes) override;
  Status sync() override { return {}; }
  Status allocate(ByteRange range) override;
  Status truncate(std::uint64_t size_bytes) override;
  /// All of it is in memory: 1.
  std::optional<double> cached_fraction(ByteRange range) const override;

 private:
  Status extend_to(std::uint64_t size_bytes, std::string_view operation);

  const std::string path_;
  mutable std::mutex mutex_;
  std::vector<std::byte> content_;
};

}  // namespace forebay::storage
