// SPDX-License-Identifier: Apache-2.0
// Files of the operating system: opening them, and the synchronous calls of File on a descriptor.
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.hpp"
#include "base/checked_cast.hpp"
#include "base/descriptor.hpp"
#include "base/no_space.hpp"
#include "base/retry_on_eintr.hpp"
#include "storage/file.hpp"
#include "storage/file_system.hpp"
#include "storage/transfer_progress.hpp"

namespace forebay::storage {

namespace {

constexpr mode_t kNewFileMode = 0666;  // as usual, reduced by the umask

class PosixFile final : public File {
 public:
  struct Properties {
    std::string path;
    FileSystem file_system;
    Access access;
    std::size_t alignment_bytes;
    FileIdentity identity;
  };
  PosixFile(Descriptor descriptor, Properties facts)
      : descriptor_(std::move(descriptor)), properties_(std::move(facts)) {}

  const std::string& path() const noexcept override { return properties_.path; }
  FileSystem file_system() const noexcept override { return properties_.file_system; }
  Access access() const noexcept override { return properties_.access; }
  std::size_t alignment_bytes() const noexcept override { return properties_.alignment_bytes; }
  int descriptor() const noexcept override { return descriptor_.get(); }
  std::optional<FileIdentity> identity() const noexcept override { return properties_.identity; }

  Result<std::uint64_t> size() const override;
  Result<std::size_t> read_at(std::span<std::byte> into, std::uint64_t offset_bytes) override;
  Result<std::size_t> write_at(std::span<const std::byte> from,
                               std::uint64_t offset_bytes) override;
  Status sync() override;
  Status allocate(ByteRange range) override;
  Status reserve(ByteRange range) override;
  Status punch_hole(ByteRange range) override;
  Status truncate(std::uint64_t size_bytes) override;
  std::optional<double> cached_fraction(ByteRange range) const override;
  std::optional<std::uint64_t> free_bytes() const override;

 private:
  struct Transfer {
    std::string_view operation;
    std::uint64_t offset_bytes;
    std::span<const std::byte> memory;
  };
  /// Makes attempts until the transfer is complete or makes no progress; `attempt(first, bytes)`
  /// moves `bytes` bytes that begin `first` bytes into the transfer.
  template <class Attempt>
  Result<std::size_t> transfer(const Transfer& request, Attempt attempt);
  tl::unexpected<Error> errno_failure(std::string_view operation, int error_number) const;
  Status fallocate_range(ByteRange range, int mode);

  Descriptor descriptor_;
  const Properties properties_;
};

tl::unexpected<Error> PosixFile::errno_failure(std::string_view operation, int error_number) const {
  return failure(system_error({.operation = std::string(operation), .path = path()}, error_number));
}

Result<std::uint64_t> PosixFile::size() const {
  struct stat found{};
  if (::fstat(descriptor(), &found) != 0) return errno_failure("get the size of", errno);
  if (!S_ISBLK(found.st_mode)) return checked_cast<std::uint64_t>(found.st_size);
  std::uint64_t capacity = 0;
  if (::ioctl(descriptor(), BLKGETSIZE64, &capacity) != 0)
    return errno_failure("get the size of", errno);
  return capacity;
}

template <class Attempt>
Result<std::size_t> PosixFile::transfer(const Transfer& request, Attempt attempt) {
  const ErrorDetails where{.operation = std::string(request.operation),
                           .path = path(),
                           .offset_bytes = request.offset_bytes};
  if (!is_aligned(*this, request.offset_bytes, request.memory)) {
    ErrorDetails details = where;
    details.kind = ErrorClass::kInvalidArgument;
    details.cause = "direct access needs offset, length and address in multiples of " +
                    std::to_string(alignment_bytes());
    return failure(std::move(details));
  }
  TransferProgress progress(request.memory.size(), alignment_bytes());
  while (!progress.is_complete()) {
    const std::uint64_t first = progress.resume_offset();
    const ssize_t moved = retry_on_eintr([&] { return attempt(first, progress.attempt_bytes()); });
    if (moved < 0) {
      ErrorDetails details = where;
      details.offset_bytes = request.offset_bytes + first;
      const int error_number = errno;
      details.cause = no_space_cause(*this, progress.attempt_bytes(), error_number);
      return failure(system_error(std::move(details), error_number));
    }
    if (!progress.advance(checked_cast<std::uint64_t>(moved))) break;
  }
  return checked_cast<std::size_t>(progress.transferred_bytes());
}

Result<std::size_t> PosixFile::read_at(std::span<std::byte> into, std::uint64_t offset_bytes) {
  return transfer({"read", offset_bytes, into}, [&](std::uint64_t first, std::uint64_t bytes) {
    return ::pread(descriptor(), into.data() + first, bytes,
                   static_cast<off_t>(offset_bytes + first));
  });
}

Result<std::size_t> PosixFile::write_at(std::span<const std::byte> from,
                                        std::uint64_t offset_bytes) {
  const auto attempt = [&](std::uint64_t first, std::uint64_t bytes) {
    return ::pwrite(descriptor(), from.data() + first, bytes,
                    static_cast<off_t>(offset_bytes + first));
  };
  const Result<std::size_t> written = transfer({"write", offset_bytes, from}, attempt);
  if (!written || *written == from.size()) return written;
  return failure({.kind = ErrorClass::kIo,
                  .operation = "write",
                  .path = path(),
                  .offset_bytes = offset_bytes + *written,
                  .cause = "the file system accepted no more bytes and returned no error"});
}

Status PosixFile::sync() {
  if (retry_on_eintr([&] { return ::fdatasync(descriptor()); }) != 0)
    return errno_failure("sync", errno);
  return {};
}

Status PosixFile::allocate(ByteRange range) { return fallocate_range(range, 0); }

Status PosixFile::reserve(ByteRange range) { return fallocate_range(range, FALLOC_FL_KEEP_SIZE); }

Status PosixFile::fallocate_range(ByteRange range, int mode) {
  if (range.empty()) return {};
  const int result = retry_on_eintr([&] {
    return ::fallocate(descriptor(), mode, static_cast<off_t>(range.offset),
                       static_cast<off_t>(range.size));
  });
  if (result == 0) return {};
  const int error_number = errno;
  return failure(system_error({.operation = "allocate space for",
                               .path = path(),
                               .cause = no_space_cause(*this, range.size, error_number)},
                              error_number));
}

Status PosixFile::punch_hole(ByteRange range) {
  if (range.empty()) return {};
  const int result = retry_on_eintr([&] {
    return ::fallocate(descriptor(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                       static_cast<off_t>(range.offset), static_cast<off_t>(range.size));
  });
  if (result != 0) return errno_failure("free space of", errno);
  return {};
}

Status PosixFile::truncate(std::uint64_t size_bytes) {
  const auto size = static_cast<off_t>(size_bytes);
  if (retry_on_eintr([&] { return ::ftruncate(descriptor(), size); }) != 0) {
    return errno_failure("truncate", errno);
  }
  return {};
}

std::optional<double> PosixFile::cached_fraction(ByteRange range) const {
  const Result<std::uint64_t> length = size();
  if (!length) return std::nullopt;
  return cached_fraction_of(descriptor(), intersect(range, {0, *length}));
}

std::optional<std::uint64_t> PosixFile::free_bytes() const { return free_bytes_of(descriptor()); }

}  // namespace

std::string no_space_cause(const File& file, std::uint64_t requested_bytes, int error_number) {
  if (error_number != ENOSPC && error_number != EDQUOT) return {};
  return forebay::no_space_cause(file.free_bytes(), requested_bytes, error_number);
}

namespace {

int flags_of(OpenOptions options) noexcept {
  int flags = options.intent == Intent::kRead ? O_RDONLY : O_RDWR;
  if (options.intent == Intent::kCreate) flags |= O_CREAT;
  if (options.intent == Intent::kCreateNew) flags |= O_CREAT | O_EXCL;
  if (options.access == Access::kDirect) flags |= O_DIRECT;
  // O_NONBLOCK: opening a FIFO without a writer would block.
  return flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
}

Error not_a_file_error(const std::string& path) {
  return Error({.kind = ErrorClass::kInvalidArgument,
                .operation = "open",
                .path = path,
                .cause = "this is neither a regular file nor a block device"});
}

Error no_direct_access_error(const std::string& path, std::string_view file_system) {
  return Error({.kind = ErrorClass::kUnsupported,
                .operation = "open",
                .path = path,
                .cause = "the file system (" + std::string(file_system) +
                         ") has no direct access to it; open it buffered"});
}

Error open_error(const std::string& path, OpenOptions options, int error_number) {
  if (error_number == ENXIO) return not_a_file_error(path);  // a socket, or a missing device
  if (error_number == EINVAL && options.access == Access::kDirect) {
    return no_direct_access_error(path, "it refused O_DIRECT");
  }
  return system_error({.operation = "open", .path = path}, error_number);
}

/// Checks the type of the file, and clears O_NONBLOCK (otherwise the ring returns EAGAIN).
Result<FileIdentity> validate_descriptor(const std::string& path, int descriptor) {
  struct stat found{};
  if (::fstat(descriptor, &found) != 0) {
    return failure(system_error({.operation = "open", .path = path}, errno));
  }
  if (!S_ISREG(found.st_mode) && !S_ISBLK(found.st_mode)) {
    return failure(not_a_file_error(path));
  }
  const int flags = ::fcntl(descriptor, F_GETFL);
  if (flags < 0 || ::fcntl(descriptor, F_SETFL, flags & ~O_NONBLOCK) != 0) {
    return failure(system_error({.operation = "open", .path = path}, errno));
  }
  return FileIdentity{found.st_dev, found.st_ino};
}

struct OpenPaths {
  const std::string& error_path;   ///< in errors
  const std::string& system_path;  ///< passed to open(2)
};

Result<std::unique_ptr<File>> open_posix_file(const OpenPaths& names, OpenOptions options) {
  Descriptor descriptor = open_path(names.system_path, flags_of(options), kNewFileMode);
  if (!descriptor) {
    return failure(open_error(names.error_path, options, errno));
  }
  const auto identity = validate_descriptor(names.error_path, descriptor.get());
  if (!identity) return failure(identity.error());
  PosixFile::Properties facts{.path = names.error_path,
                              .file_system = file_system_of(descriptor.get()),
                              .access = options.access,
                              .alignment_bytes = 1,
                              .identity = *identity};
  if (options.access == Access::kDirect) {
    const auto alignment = direct_alignment_of(descriptor.get());
    if (!alignment) {
      return failure(no_direct_access_error(names.error_path, name_of(facts.file_system)));
    }
    facts.alignment_bytes = *alignment;
  }
  return std::make_unique<PosixFile>(std::move(descriptor), std::move(facts));
}

}  // namespace

Result<std::unique_ptr<File>> open_file(const std::string& path, OpenOptions options) {
  return open_posix_file({path, path}, options);
}

Result<std::unique_ptr<File>> open_descriptor(int descriptor,
                                              const std::string& path,
                                              OpenOptions options) {
  FOREBAY_ASSERT(descriptor >= 0);
  return open_posix_file({path, "/proc/self/fd/" + std::to_string(descriptor)}, options);
}

Result<std::unique_ptr<File>> reopen(const File& file, OpenOptions options) {
  return open_descriptor(file.descriptor(), file.path(), options);
}

bool is_aligned(const File& file, std::uint64_t offset_bytes, std::span<const std::byte> memory) {
  const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
  return ((offset_bytes | memory.size() | address) & (file.alignment_bytes() - 1)) == 0;
}

}  // namespace forebay::storage
