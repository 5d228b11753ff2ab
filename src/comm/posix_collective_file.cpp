// SPDX-License-Identifier: Apache-2.0
// pread and pwrite until all is moved, then agree().
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
#include "base/uninterrupted.hpp"

namespace forebay::comm {

namespace {

constexpr mode_t kNewFileMode = 0666;  // as usual, umask takes away what the user does not want
constexpr std::size_t kSystemCallBytesMax = 0x7ffff000;  // Linux moves no more at once

tl::unexpected<Error> failed(const char* operation, const std::string& path) {
  return failure(system_error({.operation = operation, .path = path}, errno));
}

Result<Descriptor> open_here(const std::string& path, FileIntent intent) {
  const int mode = intent == FileIntent::kRead ? O_RDONLY : O_RDWR | O_CREAT;
  // O_NONBLOCK: opening a FIFO that nobody else has open would block.
  const int flags = mode | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  Descriptor file = open_path(path, flags, kNewFileMode);
  if (!file) return failed("open", path);
  struct stat found{};
  if (::fstat(file.get(), &found) != 0) return failed("open", path);
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
  Result<std::uint64_t> size_here() override;
  Result<std::size_t> move_here(const FileTransfer& transfer) override;
  Result<std::size_t> move_all(const FileTransfer& transfer) override {
    return agreed(move_here(transfer));
  }
  Status write_pieces(std::span<const FilePiece> pieces) override;
  Status begin_all(const FileTransfer& transfer) override {
    split_outcome_ = move_here(transfer);
    return {};
  }
  Result<std::size_t> end_all() override { return agreed(split_outcome_); }
  Status sync_here() override;
  Status close_here() override;

  ssize_t attempt(const FileTransfer& transfer, std::size_t moved) const noexcept;

  Descriptor file_;
  Result<std::size_t> split_outcome_ = 0;
};

Result<std::uint64_t> PosixCollectiveFile::size_here() {
  const off_t end = ::lseek(file_.get(), 0, SEEK_END);
  if (end < 0) return failed("get the size of", path());
  return checked_cast<std::uint64_t>(end);
}

/// One system call that goes on where `moved` bytes are done.
ssize_t PosixCollectiveFile::attempt(const FileTransfer& transfer,
                                     std::size_t moved) const noexcept {
  const auto rest = transfer.memory.subspan(moved);
  const std::size_t bytes = std::min(rest.size(), kSystemCallBytesMax);
  const auto offset = static_cast<off_t>(transfer.offset_bytes + moved);
  return transfer.reads() ? ::pread(file_.get(), rest.data(), bytes, offset)
                          : ::pwrite(file_.get(), rest.data(), bytes, offset);
}

/// Makes attempts until all is moved or nothing more comes.
Result<std::size_t> PosixCollectiveFile::move_here(const FileTransfer& transfer) {
  ErrorDetails where{.operation = transfer.operation(), .path = path()};
  std::size_t moved = 0;
  while (moved < transfer.memory.size()) {
    where.offset_bytes = transfer.offset_bytes + moved;
    const ssize_t now = uninterrupted([&] { return attempt(transfer, moved); });
    if (now < 0) {
      const int why = errno;
      where.cause =
          cause_of_no_space(free_bytes_of(file_.get()), transfer.memory.size() - moved, why);
      return failure(system_error(std::move(where), why));
    }
    if (now == 0) break;
    moved += checked_cast<std::size_t>(now);
  }
  if (moved == transfer.memory.size() || transfer.reads()) return moved;
  where.kind = ErrorClass::kIo;
  where.cause = "the file system took no more bytes and gave no reason";
  return failure(std::move(where));
}

Status PosixCollectiveFile::write_pieces(std::span<const FilePiece> pieces) {
  Result<std::size_t> moved = 0;
  for (const FilePiece& piece : pieces) {
    const std::span memory(const_cast<std::byte*>(piece.bytes.data()), piece.bytes.size());
    if (moved) moved = move_here({FileTransfer::Direction::kWrite, memory, piece.offset_bytes});
  }
  const auto all = agreed(moved);
  return all ? Status() : Status(failure(all.error()));
}

Status PosixCollectiveFile::sync_here() {
  if (uninterrupted([&] { return ::fdatasync(file_.get()); }) == 0) return {};
  return failed("sync", path());
}

Status PosixCollectiveFile::close_here() {
  if (::close(file_.release()) == 0) return {};
  return failed("close", path());
}

}  // namespace

Status try_open(const std::string& path, FileIntent intent) {
  const Result<Descriptor> opened = open_here(path, intent);
  return opened ? Status() : Status(failure(opened.error()));
}

Result<std::unique_ptr<CollectiveFile>> open_posix_file(std::shared_ptr<Communicator> ranks,
                                                        const std::string& path,
                                                        const CollectiveOpen& how) {
  Result<Descriptor> mine = open_here(path, how.intent);
  const Status outcome = mine ? Status() : Status(failure(mine.error()));
  if (Status all = ranks->agree(outcome); !all) return failure(all.error());
  return std::make_unique<PosixCollectiveFile>(std::move(ranks), path, how.intent,
                                               std::move(*mine));
}

}  // namespace forebay::comm
