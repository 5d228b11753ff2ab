// SPDX-License-Identifier: Apache-2.0
// A file whose name appears only when it is whole: everything goes to a temporary file beside it,
// which is renamed at the end. Parts may be written in any order, by any thread.
#pragma once

#include <forebay/error.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace forebay::command {

/// A file being written. write() may be called from several threads at once.
class PublishedFile {
 public:
  /// Makes the temporary file. An existing file of the name stays as it is until publish().
  static Result<PublishedFile> create(const std::string& path);

  PublishedFile(PublishedFile&& other) noexcept;
  PublishedFile& operator=(PublishedFile&&) = delete;
  ~PublishedFile();  ///< removes the temporary file unless published

  /// Gives the file its size and takes the space for it, so that a full disk is found now. Fails
  /// with kNoSpace; where the file system cannot reserve, the size alone is set.
  Status reserve(std::uint64_t size_bytes) const;

  /// Cuts or lengthens the file to the size that it has in the end.
  Status resize(std::uint64_t size_bytes) const;

  /// Writes all of `bytes` at `offset` from the start of the file.
  Status write(std::uint64_t offset, std::span<const std::byte> bytes) const;

  /// Makes the data durable, gives the file its name, and makes that durable. Call it once.
  Status publish();

  const std::string& path() const noexcept { return path_; }

 private:
  PublishedFile(std::string path, std::string temporary, int descriptor);
  Error error(const char* operation, int error_number) const;
  Status sync_folder() const;

  std::string path_;
  std::string temporary_;
  int descriptor_ = -1;
};

}  // namespace forebay::command
