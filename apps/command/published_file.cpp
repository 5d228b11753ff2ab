// SPDX-License-Identifier: Apache-2.0
#include "command/published_file.hpp"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace forebay::command {

namespace {

/// Unique among processes by its id and within one by a counter.
std::string temporary_name(const std::string& path) {
  static std::atomic<unsigned> counter{0};
  return fmt::format("{}.part-{}-{}", path, ::getpid(), counter++);
}

}  // namespace

Result<PublishedFile> PublishedFile::create(const std::string& path) {
  std::string temporary = temporary_name(path);
  const int descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor < 0) {
    const int reason = errno;
    return failure(system_error({.operation = "create", .path = path}, reason));
  }
  return PublishedFile(path, std::move(temporary), descriptor);
}

PublishedFile::PublishedFile(std::string path, std::string temporary, int descriptor)
    : path_(std::move(path)), temporary_(std::move(temporary)), descriptor_(descriptor) {}

PublishedFile::PublishedFile(PublishedFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::move(other.temporary_)),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

PublishedFile::~PublishedFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(temporary_.c_str());
}

Error PublishedFile::error(const char* operation, int error_number) const {
  return system_error({.operation = operation, .path = path_}, error_number);
}

// Free space is looked at first, because a reservation that fails half-way would fill the disk for
// a moment.
Status PublishedFile::reserve(std::uint64_t size_bytes) const {
  struct statvfs system{};
  if (::fstatvfs(descriptor_, &system) == 0 && system.f_bavail < size_bytes / system.f_frsize) {
    ErrorDetails details{.operation = "reserve", .path = path_};
    details.cause = fmt::format("{} bytes are needed, {} are free", size_bytes,
                                system.f_bavail * system.f_frsize);
    return failure(system_error(std::move(details), ENOSPC));
  }
  int result = 0;
  do {
    result = ::fallocate(descriptor_, 0, 0, static_cast<off_t>(size_bytes));
  } while (result != 0 && errno == EINTR);
  if (result == 0) return {};
  if (errno != EOPNOTSUPP && errno != ENOSYS) return failure(error("reserve", errno));
  return resize(size_bytes);
}

Status PublishedFile::resize(std::uint64_t size_bytes) const {
  if (::ftruncate(descriptor_, static_cast<off_t>(size_bytes)) == 0) return {};
  return failure(error("resize", errno));
}

Status PublishedFile::write(std::uint64_t offset, std::span<const std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t count =
        ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      const int reason = errno;
      return failure(
          system_error({.operation = "write", .path = path_, .offset_bytes = offset}, reason));
    }
    bytes = bytes.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
  return {};
}

Status PublishedFile::publish() {
  if (::fsync(descriptor_) != 0) return failure(error("sync", errno));
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) {
    return failure(error("rename", errno));
  }
  if (::close(std::exchange(descriptor_, -1)) != 0) {
    return failure(error("close", errno));
  }
  return sync_folder();
}

// A name is durable only when its folder is. Some file systems refuse to sync a folder (EINVAL):
// those have nothing to sync.
Status PublishedFile::sync_folder() const {
  const std::filesystem::path parent = std::filesystem::path(path_).parent_path();
  const std::string folder = parent.empty() ? "." : parent.string();
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return failure(error("open the folder of", errno));
  const int reason = ::fsync(descriptor) == 0 ? 0 : errno;
  ::close(descriptor);
  if (reason == 0 || reason == EINVAL) return {};
  return failure(error("sync the folder of", reason));
}

}  // namespace forebay::command
