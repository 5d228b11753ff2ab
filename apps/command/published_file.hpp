// SPDX-License-Identifier: Apache-2.0
// A file whose name appears only when it is complete, written by plain system calls: programs use
// it for outputs that need no stream. Parts may be written in any order, by any thread.
#pragma once

#include <forebay/error.hpp>
#include <forebay/temporary_file.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

namespace forebay::command {

/// A file being written. write() may be called from several threads at once.
class PublishedFile {
 public:
  /// Makes the temporary file, as TemporaryFile::create_beside() does and with its errors. An
  /// existing file of the name stays as it is until publish().
  static Result<PublishedFile> create(const std::string& path);

  /// Gives the file its size and takes the space for it, so that a full disk is found now. Fails
  /// with kNoSpace; where the file system cannot reserve, the size alone is set.
  Status reserve(std::uint64_t size_bytes) const;

  /// Cuts or lengthens the file to the size that it has in the end.
  Status resize(std::uint64_t size_bytes) const;

  /// Writes all of `bytes` at `offset` from the start of the file.
  Status write(std::uint64_t offset, std::span<const std::byte> bytes) const;

  /// As TemporaryFile::publish().
  Status publish() { return file_.publish(); }

  const std::string& path() const noexcept { return path_; }

 private:
  PublishedFile(std::string path, TemporaryFile file)
      : path_(std::move(path)), file_(std::move(file)) {}
  Error error(const char* operation, int error_number) const;
  Error no_space(ErrorDetails details, std::uint64_t wanted_bytes, int error_number) const;

  std::string path_;
  TemporaryFile file_;
};

}  // namespace forebay::command
