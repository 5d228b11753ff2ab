// SPDX-License-Identifier: Apache-2.0
#include "command/atomic_file.hpp"

#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace forebay::command {

Result<AtomicFile> AtomicFile::create(const std::string& path) {
  auto file = TemporaryFile::create_beside(path);
  if (!file) return failure(file.error());
  return AtomicFile(path, std::move(*file));
}

Error AtomicFile::error(const char* operation, int error_number) const {
  return system_error({.operation = operation, .path = path_}, error_number);
}

/// An Error with the bytes required and free, if `error_number` reports a full disk or quota.
Error AtomicFile::no_space(ErrorDetails details,
                           std::uint64_t requested_bytes,
                           int error_number) const {
  if (error_number != ENOSPC && error_number != EDQUOT)
    return system_error(std::move(details), error_number);
  details.cause = fmt::format("{} bytes are requested", requested_bytes);
  struct statvfs system{};
  if (error_number == ENOSPC && ::fstatvfs(file_.descriptor(), &system) == 0)
    details.cause +=
        fmt::format(", the file system has {} free", system.f_bavail * system.f_frsize);
  details.cause += "; free some, or write elsewhere";
  return system_error(std::move(details), error_number);
}

// Checks free space first: a reservation that fails halfway would briefly fill the disk.
Status AtomicFile::reserve(std::uint64_t size_bytes) const {
  struct statvfs system{};
  if (::fstatvfs(file_.descriptor(), &system) == 0 &&
      system.f_bavail < size_bytes / system.f_frsize)
    return failure(no_space({.operation = "reserve", .path = path_}, size_bytes, ENOSPC));
  int result = 0;
  do {
    result = ::fallocate(file_.descriptor(), 0, 0, static_cast<off_t>(size_bytes));
  } while (result != 0 && errno == EINTR);
  if (result == 0) return {};
  if (errno != EOPNOTSUPP && errno != ENOSYS)
    return failure(no_space({.operation = "reserve", .path = path_}, size_bytes, errno));
  return resize(size_bytes);
}

Status AtomicFile::resize(std::uint64_t size_bytes) const {
  if (::ftruncate(file_.descriptor(), static_cast<off_t>(size_bytes)) == 0) return {};
  return failure(error("resize", errno));
}

Status AtomicFile::write(std::uint64_t offset, std::span<const std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t count =
        ::pwrite(file_.descriptor(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      const int reason = errno;
      return failure(no_space({.operation = "write", .path = path_, .offset_bytes = offset},
                              bytes.size(), reason));
    }
    bytes = bytes.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
  return {};
}

}  // namespace forebay::command
