// SPDX-License-Identifier: Apache-2.0
#include "bench/cube/stdio_temporary_file.hpp"

#include <cerrno>
#include <filesystem>
#include <system_error>

#include <sys/stat.h>
#include <unistd.h>

namespace forebay::bench::cube {

Result<StdioTemporaryFile> StdioTemporaryFile::create(const std::string& path) {
  std::FILE* const file = std::fopen(path.c_str(), "w+b");
  if (file != nullptr) return StdioTemporaryFile(path, file);
  return failure(system_error({.operation = "create", .path = path}, errno));
}

StdioTemporaryFile::~StdioTemporaryFile() {
  if (file_ == nullptr || is_kept_) return;
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
}

tl::unexpected<Error> StdioTemporaryFile::io_failure(const char* operation,
                                                     std::uint64_t offset) const {
  const int reason = errno;
  return failure(
      system_error({.operation = operation, .path = path_, .offset_bytes = offset}, reason));
}

Status StdioTemporaryFile::write(std::uint64_t offset, std::span<const std::byte> bytes) {
  if (::fseeko(file_.get(), static_cast<off_t>(offset), SEEK_SET) != 0)
    return io_failure("seek", offset);
  return append(bytes);
}

Status StdioTemporaryFile::append(std::span<const std::byte> bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) == bytes.size()) return {};
  return io_failure("write", 0);
}

Status StdioTemporaryFile::read(std::uint64_t offset, std::span<std::byte> into) {
  if (::fseeko(file_.get(), static_cast<off_t>(offset), SEEK_SET) != 0)
    return io_failure("seek", offset);
  if (std::fread(into.data(), 1, into.size(), file_.get()) == into.size()) return {};
  if (std::ferror(file_.get()) != 0) return io_failure("read", offset);
  return failure(
      {.kind = ErrorClass::kShortFile, .operation = "read", .path = path_, .offset_bytes = offset});
}

Status StdioTemporaryFile::flush() {
  if (std::fflush(file_.get()) == 0) return {};
  return io_failure("write", 0);
}

Status StdioTemporaryFile::sync() {
  if (auto flushed = flush(); !flushed) return flushed;
  if (::fsync(descriptor()) == 0) return {};
  return io_failure("sync", 0);
}

Result<std::uint64_t> StdioTemporaryFile::size_bytes() {
  if (auto flushed = flush(); !flushed) return failure(flushed.error());
  struct stat status{};
  if (::fstat(descriptor(), &status) == 0) return static_cast<std::uint64_t>(status.st_size);
  return io_failure("get the size of", 0);
}

}  // namespace forebay::bench::cube
