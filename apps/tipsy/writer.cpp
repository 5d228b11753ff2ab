// SPDX-License-Identifier: Apache-2.0
#include "tipsy/writer.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "tipsy/header.hpp"

namespace forebay::tipsy {

namespace {

/// Unique among processes by its id and within one by a counter.
std::string temporary_name(const std::string& path) {
  static std::atomic<unsigned> counter{0};
  return fmt::format("{}.part-{}-{}", path, ::getpid(), counter++);
}

Status check_limits(const std::string& path, const Layout& layout) {
  const bool is_short = layout.header_bytes == kShortHeaderBytes;
  const std::uint64_t limit = is_short ? kShortCountLimit : kCountLimit;
  // Each on its own first: the sum of three large counts could wrap around.
  for (const Family family : kFamilies) {
    if (layout.counts.of(family) <= limit && layout.counts.total() <= limit) continue;
    return failure({.kind = ErrorClass::kInvalidArgument,
                    .operation = "create",
                    .path = path,
                    .cause = fmt::format("{} particles are more than a header of {} bytes can "
                                         "count, {}",
                                         layout.counts.total(), layout.header_bytes, limit)});
  }
  return {};
}

}  // namespace

Result<SnapshotWriter> SnapshotWriter::create(const std::string& path,
                                              const Layout& layout,
                                              double time) {
  if (const Status legal = check_limits(path, layout); !legal) {
    return tl::unexpected<Error>(legal.error());
  }
  std::string temporary = temporary_name(path);
  const int descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor < 0) {
    const int reason = errno;
    return tl::unexpected<Error>(system_error({.operation = "create", .path = path}, reason));
  }
  SnapshotWriter writer(path, std::move(temporary), descriptor);
  if (const Status reserved = writer.reserve(layout.end_bytes()); !reserved) {
    return tl::unexpected<Error>(reserved.error());
  }
  const HeaderBytes header = encode_header(header_for(time, layout.counts), layout.order);
  const auto bytes = std::span(header).first(layout.header_bytes);
  if (const Status written = writer.write(0, bytes); !written) {
    return tl::unexpected<Error>(written.error());
  }
  return writer;
}

SnapshotWriter::SnapshotWriter(std::string path, std::string temporary, int descriptor)
    : path_(std::move(path)), temporary_(std::move(temporary)), descriptor_(descriptor) {}

SnapshotWriter::SnapshotWriter(SnapshotWriter&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::move(other.temporary_)),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

SnapshotWriter::~SnapshotWriter() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(temporary_.c_str());
}

Error SnapshotWriter::error(const char* operation, int error_number) const {
  return system_error({.operation = operation, .path = path_}, error_number);
}

// A full disk is found now and not after a minute of work. Free space is looked at first, because a
// reservation that fails half-way would fill the disk for a moment. Where the file system cannot
// reserve, the size alone is set.
Status SnapshotWriter::reserve(std::uint64_t size_bytes) const {
  struct statvfs system{};
  if (::fstatvfs(descriptor_, &system) == 0 && system.f_bavail < size_bytes / system.f_frsize) {
    ErrorDetails details{.operation = "reserve", .path = path_};
    details.cause = fmt::format("{} bytes are needed, {} are free", size_bytes,
                                system.f_bavail * system.f_frsize);
    return tl::unexpected<Error>(system_error(std::move(details), ENOSPC));
  }
  const auto size = static_cast<off_t>(size_bytes);
  int result = 0;
  do {
    result = ::fallocate(descriptor_, 0, 0, size);
  } while (result != 0 && errno == EINTR);
  if (result == 0) return {};
  if (errno != EOPNOTSUPP && errno != ENOSYS) return tl::unexpected<Error>(error("reserve", errno));
  if (::ftruncate(descriptor_, size) == 0) return {};
  return tl::unexpected<Error>(error("reserve", errno));
}

Status SnapshotWriter::write(std::uint64_t offset, std::span<const std::byte> records) const {
  while (!records.empty()) {
    const ssize_t count =
        ::pwrite(descriptor_, records.data(), records.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      const int reason = errno;
      return tl::unexpected<Error>(
          system_error({.operation = "write", .path = path_, .offset_bytes = offset}, reason));
    }
    records = records.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
  return {};
}

Status SnapshotWriter::commit() {
  if (::fdatasync(descriptor_) != 0) return tl::unexpected<Error>(error("sync", errno));
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) {
    return tl::unexpected<Error>(error("rename", errno));
  }
  if (::close(std::exchange(descriptor_, -1)) != 0) {
    return tl::unexpected<Error>(error("close", errno));
  }
  return {};
}

}  // namespace forebay::tipsy
