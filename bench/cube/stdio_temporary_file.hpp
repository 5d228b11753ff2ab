// SPDX-License-Identifier: Apache-2.0
// A file in the scheme of the original, which uses C stdio: written in parts, each after a seek,
// and read back once.
#pragma once

#include <forebay/error.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace forebay::bench::cube {

/// Removed by the destructor, unless kept.
class StdioTemporaryFile {
 public:
  static Result<StdioTemporaryFile> create(const std::string& path);
  StdioTemporaryFile(StdioTemporaryFile&& other) noexcept = default;
  StdioTemporaryFile& operator=(StdioTemporaryFile&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(file_, other.file_);
    std::swap(is_kept_, other.is_kept_);
    return *this;
  }
  ~StdioTemporaryFile();

  const std::string& path() const noexcept { return path_; }
  int descriptor() const noexcept { return ::fileno(file_.get()); }

  Status write(std::uint64_t offset, std::span<const std::byte> bytes);
  /// Writes after the last byte that was written or read.
  Status append(std::span<const std::byte> bytes);
  Status read(std::uint64_t offset, std::span<std::byte> into);
  /// Passes buffered data to the system.
  Status flush();
  Status sync();
  Result<std::uint64_t> size_bytes();
  /// The destructor will not remove the file.
  void keep() noexcept { is_kept_ = true; }

 private:
  using CloseFunction = int (*)(std::FILE*);
  StdioTemporaryFile(std::string path, std::FILE* file)
      : path_(std::move(path)), file_(file, &::fclose) {}
  tl::unexpected<Error> io_failure(const char* operation, std::uint64_t offset) const;

  std::string path_;
  std::unique_ptr<std::FILE, CloseFunction> file_;
  bool is_kept_ = false;
};

}  // namespace forebay::bench::cube
