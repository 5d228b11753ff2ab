// SPDX-License-Identifier: Apache-2.0
// Files of the operating system: opening what can be opened, and the synchronous calls of File on a
// descriptor.
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
#include "base/uninterrupted.hpp"
#include "storage/file.hpp"
#include "storage/file_system.hpp"
#include "storage/transfer_progress.hpp"

namespace forebay::storage {

namespace {

constexpr mode_t kNewFileMode = 0666;  // as usual, umask takes away what the user does not want

class PosixFile final : public File {
 public:
  struct Facts {
    std::string path;
    FileSystem file_system;
    Access access;
    std::size_t alignment_bytes;
  };
  PosixFile(Descriptor descriptor, Facts facts)
      : descriptor_(std::move(descriptor)), facts_(std::move(facts)) {}

  const std::string& path() const noexcept override { return facts_.path; }
  FileSystem file_system() const noexcept override { return facts_.file_system; }
  Access access() const noexcept override { return facts_.access; }
  std::size_t alignment_bytes() const noexcept override { return facts_.alignment_bytes; }
  int descriptor() const noexcept override { return descriptor_.get(); }

  Result<std::uint64_t> size() const override;
  Result<std::size_t> read_at(std::span<std::byte> into, std::uint64_t offset_bytes) override;
  Result<std::size_t> write_at(std::span<const std::byte> from,
                               std::uint64_t offset_bytes) override;
  Status sync() override;
  Status allocate(ByteRange range) override;
  Status reserve(ByteRange range) override;
  Status punch(ByteRange range) override;
  Status truncate(std::uint64_t size_bytes) override;
  std::optional<double> cached_fraction(ByteRange range) const override;
  std::optional<std::uint64_t> free_bytes() const override;

 private:
  struct Step {
    std::string_view operation;
    std::uint64_t offset_bytes;
    std::span<const std::byte> memory;
  };
  /// Makes attempts until the transfer is complete or gets no further; `attempt(first, bytes)`
  /// moves `bytes` bytes that begin `first` bytes into the transfer.
  template <class Attempt>
  Result<std::size_t> transfer(const Step& step, Attempt attempt);
  tl::unexpected<Error> failed(std::string_view operation, int error_number) const;
  Status take_space(ByteRange range, int mode);

  Descriptor descriptor_;
  const Facts facts_;
};

tl::unexpected<Error> PosixFile::failed(std::string_view operation, int error_number) const {
  return failure(system_error({.operation = std::string(operation), .path = path()}, error_number));
}

Result<std::uint64_t> PosixFile::size() const {
  struct stat found{};
  if (::fstat(descriptor(), &found) != 0) return failed("get the size of", errno);
  if (!S_ISBLK(found.st_mode)) return checked_cast<std::uint64_t>(found.st_size);
  std::uint64_t capacity = 0;
  if (::ioctl(descriptor(), BLKGETSIZE64, &capacity) != 0) return failed("get the size of", errno);
  return capacity;
}

template <class Attempt>
Result<std::size_t> PosixFile::transfer(const Step& step, Attempt attempt) {
  const ErrorDetails where{
      .operation = std::string(step.operation), .path = path(), .offset_bytes = step.offset_bytes};
  if (!is_aligned(*this, step.offset_bytes, step.memory)) {
    ErrorDetails details = where;
    details.kind = ErrorClass::kInvalidArgument;
    details.cause = "direct access needs offset, length and address in multiples of " +
                    std::to_string(alignment_bytes());
    return failure(std::move(details));
  }
  TransferProgress progress(step.memory.size(), alignment_bytes());
  while (!progress.complete()) {
    const std::uint64_t first = progress.restart_bytes();
    const ssize_t moved = uninterrupted([&] { return attempt(first, progress.attempt_bytes()); });
    if (moved < 0) {
      ErrorDetails details = where;
      details.offset_bytes = step.offset_bytes + first;
      const int error_number = errno;
      details.cause = cause_of_no_space(*this, progress.attempt_bytes(), error_number);
      return failure(system_error(std::move(details), error_number));
    }
    if (!progress.advance(checked_cast<std::uint64_t>(moved))) break;
  }
  return checked_cast<std::size_t>(progress.reached_bytes());
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
                  .cause = "the file system took no more bytes and gave no reason"});
}

Status PosixFile::sync() {
  if (uninterrupted([&] { return ::fdatasync(descriptor()); }) != 0) return failed("sync", errno);
  return {};
}

Status PosixFile::allocate(ByteRange range) { return take_space(range, 0); }

Status PosixFile::reserve(ByteRange range) { return take_space(range, FALLOC_FL_KEEP_SIZE); }

Status PosixFile::take_space(ByteRange range, int mode) {
  if (range.empty()) return {};
  const int result = uninterrupted([&] {
    return ::fallocate(descriptor(), mode, static_cast<off_t>(range.offset),
                       static_cast<off_t>(range.size));
  });
  if (result == 0) return {};
  const int error_number = errno;
  return failure(system_error({.operation = "allocate space for",
                               .path = path(),
                               .cause = cause_of_no_space(*this, range.size, error_number)},
                              error_number));
}

Status PosixFile::punch(ByteRange range) {
  if (range.empty()) return {};
  const int result = uninterrupted([&] {
    return ::fallocate(descriptor(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                       static_cast<off_t>(range.offset), static_cast<off_t>(range.size));
  });
  if (result != 0) return failed("give back space of", errno);
  return {};
}

Status PosixFile::truncate(std::uint64_t size_bytes) {
  const auto size = static_cast<off_t>(size_bytes);
  if (uninterrupted([&] { return ::ftruncate(descriptor(), size); }) != 0) {
    return failed("truncate", errno);
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

std::string cause_of_no_space(const File& file, std::uint64_t wanted_bytes, int error_number) {
  if (error_number != ENOSPC && error_number != EDQUOT) return {};
  return forebay::cause_of_no_space(file.free_bytes(), wanted_bytes, error_number);
}

namespace {

int flags_of(OpenOptions options) noexcept {
  int flags = options.intent == Intent::kRead ? O_RDONLY : O_RDWR;
  if (options.intent == Intent::kCreate) flags |= O_CREAT;
  if (options.intent == Intent::kCreateNew) flags |= O_CREAT | O_EXCL;
  if (options.access == Access::kDirect) flags |= O_DIRECT;
  // O_NONBLOCK: opening a FIFO that nobody else has open would block.
  return flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
}

Error not_a_file(const std::string& path) {
  return Error({.kind = ErrorClass::kInvalidArgument,
                .operation = "open",
                .path = path,
                .cause = "this is neither a regular file nor a block device"});
}

Error no_direct_access(const std::string& path, std::string_view file_system) {
  return Error({.kind = ErrorClass::kUnsupported,
                .operation = "open",
                .path = path,
                .cause = "the file system (" + std::string(file_system) +
                         ") has no direct access to it; open it buffered"});
}

Error open_error(const std::string& path, OpenOptions options, int error_number) {
  if (error_number == ENXIO) return not_a_file(path);  // a socket, or a device that is not there
  if (error_number == EINVAL && options.access == Access::kDirect) {
    return no_direct_access(path, "it refused O_DIRECT");
  }
  return system_error({.operation = "open", .path = path}, error_number);
}

/// Checks what was opened, and lets system calls on it block again (the ring gives EAGAIN
/// otherwise).
Status accept_descriptor(const std::string& path, int descriptor) {
  struct stat found{};
  if (::fstat(descriptor, &found) != 0) {
    return failure(system_error({.operation = "open", .path = path}, errno));
  }
  if (!S_ISREG(found.st_mode) && !S_ISBLK(found.st_mode)) {
    return failure(not_a_file(path));
  }
  const int flags = ::fcntl(descriptor, F_GETFL);
  if (flags < 0 || ::fcntl(descriptor, F_SETFL, flags & ~O_NONBLOCK) != 0) {
    return failure(system_error({.operation = "open", .path = path}, errno));
  }
  return {};
}

struct Names {
  const std::string& shown;   ///< in errors
  const std::string& opened;  ///< handed to open(2)
};

Result<std::unique_ptr<File>> open_named(const Names& names, OpenOptions options) {
  Descriptor descriptor = open_path(names.opened, flags_of(options), kNewFileMode);
  if (!descriptor) {
    return failure(open_error(names.shown, options, errno));
  }
  if (const Status accepted = accept_descriptor(names.shown, descriptor.get()); !accepted) {
    return failure(accepted.error());
  }
  PosixFile::Facts facts{.path = names.shown,
                         .file_system = file_system_of(descriptor.get()),
                         .access = options.access,
                         .alignment_bytes = 1};
  if (options.access == Access::kDirect) {
    const auto alignment = direct_alignment_of(descriptor.get());
    if (!alignment) {
      return failure(no_direct_access(names.shown, name_of(facts.file_system)));
    }
    facts.alignment_bytes = *alignment;
  }
  return std::make_unique<PosixFile>(std::move(descriptor), std::move(facts));
}

}  // namespace

Result<std::unique_ptr<File>> open_file(const std::string& path, OpenOptions options) {
  return open_named({path, path}, options);
}

Result<std::unique_ptr<File>> open_descriptor(int descriptor,
                                              const std::string& path,
                                              OpenOptions options) {
  FOREBAY_ASSERT(descriptor >= 0);
  return open_named({path, "/proc/self/fd/" + std::to_string(descriptor)}, options);
}

Result<std::unique_ptr<File>> reopen(const File& file, OpenOptions options) {
  return open_descriptor(file.descriptor(), file.path(), options);
}

bool is_aligned(const File& file, std::uint64_t offset_bytes, std::span<const std::byte> memory) {
  const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
  return ((offset_bytes | memory.size() | address) & (file.alignment_bytes() - 1)) == 0;
}

}  // namespace forebay::storage
