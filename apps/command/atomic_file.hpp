// SPDX-License-Identifier: Apache-2.0
// An output file that has its name only once it is complete, written by plain system calls, for
// outputs that need no stream. Any thread may write any part, in any order.
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
class AtomicFile {
 public:
  /// Creates the temporary file, as TemporaryFile::create_beside() does and with its errors. An
  /// existing file at `path` is unchanged until publish().
  static Result<AtomicFile> create(const std::string& path);

  /// Sets the file's size and allocates its space, so that a full disk is detected now. Fails with
  /// kNoSpace. If the file system cannot allocate space, only the size is set.
  Status reserve(std::uint64_t size_bytes) const;

  /// Truncates or extends the file to its final size.
  Status resize(std::uint64_t size_bytes) const;

  /// Writes all of `bytes` at `offset` from the start of the file; blocks.
  Status write(std::uint64_t offset, std::span<const std::byte> bytes) const;

  /// As TemporaryFile::publish().
  Status publish() { return file_.publish(); }

  const std::string& path() const noexcept { return path_; }

 private:
  AtomicFile(std::string path, TemporaryFile file)
      : path_(std::move(path)), file_(std::move(file)) {}
  Error error(const char* operation, int error_number) const;
  Error no_space(ErrorDetails details, std::uint64_t requested_bytes, int error_number) const;

  std::string path_;
  TemporaryFile file_;
};

}  // namespace forebay::command
