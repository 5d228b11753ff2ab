// SPDX-License-Identifier: Apache-2.0
// A file of the original's scheme, through the C library as there: written in pieces, each after a
// seek, and read back once.
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

/// Removed with its object, unless kept.
class TemporaryFile {
 public:
  static Result<TemporaryFile> create(const std::string& path);
  TemporaryFile(TemporaryFile&& other) noexcept = default;
  TemporaryFile& operator=(TemporaryFile&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(file_, other.file_);
    std::swap(is_kept_, other.is_kept_);
    return *this;
  }
  ~TemporaryFile();

  const std::string& path() const noexcept { return path_; }
  int descriptor() const noexcept { return ::fileno(file_.get()); }

  Status write(std::uint64_t offset, std::span<const std::byte> bytes);
  /// Behind what was written or read last.
  Status append(std::span<const std::byte> bytes);
  Status read(std::uint64_t offset, std::span<std::byte> into);
  /// What the C library holds back goes to the system.
  Status flush();
  Status sync();
  Result<std::uint64_t> size_bytes();
  /// The file stays when its object goes.
  void keep() noexcept { is_kept_ = true; }

 private:
  using Closing = int (*)(std::FILE*);
  TemporaryFile(std::string path, std::FILE* file)
      : path_(std::move(path)), file_(file, &::fclose) {}
  tl::unexpected<Error> failed(const char* operation, std::uint64_t offset) const;

  std::string path_;
  std::unique_ptr<std::FILE, Closing> file_;
  bool is_kept_ = false;
};

}  // namespace forebay::bench::cube
