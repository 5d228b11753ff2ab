// SPDX-License-Identifier: Apache-2.0
// pread() and pwrite() until all bytes are moved, then agree().
#include "comm/posix_collective_file.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checked_cast.hpp"
#include "base/descriptor.hpp"
#include "base/no_space.hpp"
#include "base/retry_on_eintr.hpp"

namespace forebay::comm {

namespace {

constexpr mode_t kNewFileMode = 0666;                    // reduced by the umask
constexpr std::size_t kSystemCallBytesMax = 0x7ffff000;  // limit of one call on Linux

tl::unexpected<Error> errno_failure(const char* operation, const std::string& path) {
  return failure(system_error({.operation = operation, .path = path}, errno));
}

Result<Descriptor> open_local(const std::string& path, FileIntent intent) {
  const int mode = intent == FileIntent::kRead ? O_RDONLY : O_RDWR | O_CREAT;
  // O_NONBLOCK: opening a FIFO without a writer would block.
  const int flags = mode | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  Descriptor file = open_path(path, flags, kNewFileMode);
  if (!file) return errno_failure("open", path);
  struct stat found{};
  if (::fstat(file.get(), &found) != 0) return errno_failure("open", path);
  if (!S_ISREG(found.st_mode) && !S_ISBLK(found.st_mode)) {
    return failure({.kind = ErrorClass::kInvalidArgument,
                    .operation = "open",
                    .path = path,
                    .cause = "this is neither a regular file nor a block device"});
  }
  return file;
}

class PosixCollectiveFile final : public CollectiveFile {
 public:
  PosixCollectiveFile(std::shared_ptr<Communicator> ranks,
                      const std::string& path,
                      FileIntent intent,
                      Descriptor file)
      : CollectiveFile(std::move(ranks), path, intent), file_(std::move(file)) {}

 private:
  Result<std::uint64_t> size_local() override;
  Result<std::size_t> transfer_local(const FileTransfer& transfer) override;
  Result<std::size_t> transfer_collective(const FileTransfer& transfer) override {
    return agree_on(transfer_local(transfer));
  }
  Status write_segments(std::span<const FileSegment> segments) override;
  Status begin_collective(const FileTransfer& transfer) override {
    split_outcome_ = transfer_local(transfer);
    return {};
  }
  Result<std::size_t> end_collective() override { return agree_on(split_outcome_); }
  Status sync_local() override;
  Status close_local() override;

  ssize_t attempt(const FileTransfer& transfer, std::size_t moved) const noexcept;

  Descriptor file_;
  Result<std::size_t> split_outcome_ = 0;
};

Result<std::uint64_t> PosixCollectiveFile::size_local() {
  const off_t end = ::lseek(file_.get(), 0, SEEK_END);
  if (end < 0) return errno_failure("get the size of", path());
  return checked_cast<std::uint64_t>(end);
}

/// One system call, which starts `moved` bytes into the transfer.
ssize_t PosixCollectiveFile::attempt(const FileTransfer& transfer,
                                     std::size_t moved) const noexcept {
  const auto rest = transfer.memory.subspan(moved);
  const std::size_t bytes = std::min(rest.size(), kSystemCallBytesMax);
  const auto offset = static_cast<off_t>(transfer.offset_bytes + moved);
  return transfer.is_read() ? ::pread(file_.get(), rest.data(), bytes, offset)
                            : ::pwrite(file_.get(), rest.data(), bytes, offset);
}

/// Makes attempts until all bytes are moved, one moves none, or one fails.
Result<std::size_t> PosixCollectiveFile::transfer_local(const FileTransfer& transfer) {
  ErrorDetails where{.operation = transfer.operation(), .path = path()};
  std::size_t moved = 0;
  while (moved < transfer.memory.size()) {
    where.offset_bytes = transfer.offset_bytes + moved;
    const ssize_t now = retry_on_eintr([&] { return attempt(transfer, moved); });
    if (now < 0) {
      const int why = errno;
      where.cause = no_space_cause(free_bytes_of(file_.get()), transfer.memory.size() - moved, why);
      return failure(system_error(std::move(where), why));
    }
    if (now == 0) break;
    moved += checked_cast<std::size_t>(now);
  }
  if (moved == transfer.memory.size() || transfer.is_read()) return moved;
  where.kind = ErrorClass::kIo;
  where.cause = "the file system accepted no more bytes and returned no error";
  return failure(std::move(where));
}

Status PosixCollectiveFile::write_segments(std::span<const FileSegment> segments) {
  Result<std::size_t> moved = 0;
  for (const FileSegment& segment : segments) {
    const std::span memory(const_cast<std::byte*>(segment.bytes.data()), segment.bytes.size());
    if (moved)
      moved = transfer_local({FileTransfer::Direction::kWrite, memory, segment.offset_bytes});
  }
  const auto all = agree_on(moved);
  return all ? Status() : Status(failure(all.error()));
}

Status PosixCollectiveFile::sync_local() {
  if (retry_on_eintr([&] { return ::fdatasync(file_.get()); }) == 0) return {};
  return errno_failure("sync", path());
}

Status PosixCollectiveFile::close_local() {
  if (::close(file_.release()) == 0) return {};
  return errno_failure("close", path());
}

}  // namespace

Status try_open(const std::string& path, FileIntent intent) {
  const Result<Descriptor> opened = open_local(path, intent);
  return opened ? Status() : Status(failure(opened.error()));
}

Result<std::unique_ptr<CollectiveFile>> open_posix_file(std::shared_ptr<Communicator> ranks,
                                                        const std::string& path,
                                                        const CollectiveOpenOptions& options) {
  Result<Descriptor> opened = open_local(path, options.intent);
  const Status outcome = opened ? Status() : Status(failure(opened.error()));
  if (Status agreed = ranks->agree(outcome); !agreed) return failure(agreed.error());
  return std::make_unique<PosixCollectiveFile>(std::move(ranks), path, options.intent,
                                               std::move(*opened));
}

}  // namespace forebay::comm
