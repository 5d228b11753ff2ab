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
#include "base/uninterrupted.hpp"

namespace forebay::comm {

namespace {

constexpr mode_t kNewFileMode = 0666;  // as usual, umask takes away what the user does not want
constexpr std::size_t kSystemCallBytesMax = 0x7ffff000;  // Linux moves no more at once

tl::unexpected<Error> failed(const char* operation, const std::string& path) {
  return tl::unexpected<Error>(system_error({.operation = operation, .path = path}, errno));
}

Result<Descriptor> open_here(const std::string& path, FileIntent intent) {
  const int mode = intent == FileIntent::kRead ? O_RDONLY : O_RDWR | O_CREAT;
  // O_NONBLOCK: opening a FIFO that nobody else has open would block.
  const int flags = mode | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  Descriptor file(uninterrupted([&] { return ::open(path.c_str(), flags, kNewFileMode); }));
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

Status status_of(const Result<std::size_t>& moved) {
  return moved ? Status() : Status(tl::unexpected<Error>(moved.error()));
}

class PosixCollectiveFile final : public CollectiveFile {
 public:
  PosixCollectiveFile(std::shared_ptr<Communicator> ranks, CollectiveState state, Descriptor file)
      : ranks_(std::move(ranks)), state_(std::move(state)), file_(std::move(file)) {}

  const std::string& path() const noexcept override { return state_.path(); }
  Result<std::uint64_t> size() override;
  Result<std::size_t> read_at(std::span<std::byte> into, std::uint64_t offset_bytes) override;
  Result<std::size_t> write_at(std::span<const std::byte> from,
                               std::uint64_t offset_bytes) override;
  Result<std::size_t> read_at_all(std::span<std::byte> into, std::uint64_t offset_bytes) override;
  Result<std::size_t> write_at_all(std::span<const std::byte> from,
                                   std::uint64_t offset_bytes) override;
  Status read_at_all_begin(std::span<std::byte> into, std::uint64_t offset_bytes) override;
  Result<std::size_t> read_at_all_end() override;
  Status write_at_all_begin(std::span<const std::byte> from, std::uint64_t offset_bytes) override;
  Result<std::size_t> write_at_all_end() override;
  Status sync() override;
  Status close() override;

 private:
  struct Step {
    const char* operation;
    std::uint64_t offset_bytes;
    std::size_t size_bytes;
  };
  /// Makes attempts until all is moved or nothing more comes.
  template <class Attempt>
  Result<std::size_t> transfer(const Step& step, Attempt attempt);
  /// `moved` if all ranks succeeded.
  Result<std::size_t> agreed(const Result<std::size_t>& moved);
  Result<std::size_t> end(CollectiveState::Split split);

  std::shared_ptr<Communicator> ranks_;
  CollectiveState state_;
  Descriptor file_;
  Result<std::size_t> split_outcome_ = 0;
};

Result<std::uint64_t> PosixCollectiveFile::size() {
  if (Status open = state_.check_open("get the size of"); !open) {
    return tl::unexpected<Error>(open.error());
  }
  const off_t end = ::lseek(file_.get(), 0, SEEK_END);
  if (end < 0) return failed("get the size of", path());
  return checked_cast<std::uint64_t>(end);
}

template <class Attempt>
Result<std::size_t> PosixCollectiveFile::transfer(const Step& step, Attempt attempt) {
  if (Status open = state_.check_open(step.operation); !open) {
    return tl::unexpected<Error>(open.error());
  }
  std::size_t moved = 0;
  while (moved < step.size_bytes) {
    const std::size_t bytes = std::min(step.size_bytes - moved, kSystemCallBytesMax);
    const ssize_t now = uninterrupted([&] { return attempt(moved, bytes); });
    if (now < 0) {
      return tl::unexpected<Error>(system_error(
          {.operation = step.operation, .path = path(), .offset_bytes = step.offset_bytes + moved},
          errno));
    }
    if (now == 0) break;
    moved += checked_cast<std::size_t>(now);
  }
  return moved;
}

Result<std::size_t> PosixCollectiveFile::read_at(std::span<std::byte> into,
                                                 std::uint64_t offset_bytes) {
  return transfer({"read", offset_bytes, into.size()}, [&](std::size_t done, std::size_t bytes) {
    return ::pread(file_.get(), into.data() + done, bytes, static_cast<off_t>(offset_bytes + done));
  });
}

Result<std::size_t> PosixCollectiveFile::write_at(std::span<const std::byte> from,
                                                  std::uint64_t offset_bytes) {
  if (Status allowed = state_.check_write(); !allowed) {
    return tl::unexpected<Error>(allowed.error());
  }
  const auto attempt = [&](std::size_t done, std::size_t bytes) {
    return ::pwrite(file_.get(), from.data() + done, bytes,
                    static_cast<off_t>(offset_bytes + done));
  };
  const Result<std::size_t> moved = transfer({"write", offset_bytes, from.size()}, attempt);
  if (!moved || *moved == from.size()) return moved;
  return failure({.kind = ErrorClass::kIo,
                  .operation = "write",
                  .path = path(),
                  .offset_bytes = offset_bytes + *moved,
                  .cause = "the file system took no more bytes and gave no reason"});
}

Result<std::size_t> PosixCollectiveFile::agreed(const Result<std::size_t>& moved) {
  if (Status all = ranks_->agree(status_of(moved)); !all) {
    return tl::unexpected<Error>(all.error());
  }
  return *moved;
}

Result<std::size_t> PosixCollectiveFile::read_at_all(std::span<std::byte> into,
                                                     std::uint64_t offset_bytes) {
  if (Status begun = read_at_all_begin(into, offset_bytes); !begun) {
    return tl::unexpected<Error>(begun.error());
  }
  return read_at_all_end();
}

Result<std::size_t> PosixCollectiveFile::write_at_all(std::span<const std::byte> from,
                                                      std::uint64_t offset_bytes) {
  if (Status begun = write_at_all_begin(from, offset_bytes); !begun) {
    return tl::unexpected<Error>(begun.error());
  }
  return write_at_all_end();
}

Status PosixCollectiveFile::read_at_all_begin(std::span<std::byte> into,
                                              std::uint64_t offset_bytes) {
  if (Status begun = state_.begin(CollectiveState::Split::kRead); !begun) return begun;
  split_outcome_ = read_at(into, offset_bytes);
  return {};
}

Status PosixCollectiveFile::write_at_all_begin(std::span<const std::byte> from,
                                               std::uint64_t offset_bytes) {
  if (Status begun = state_.begin(CollectiveState::Split::kWrite); !begun) return begun;
  split_outcome_ = write_at(from, offset_bytes);
  return {};
}

Result<std::size_t> PosixCollectiveFile::end(CollectiveState::Split split) {
  if (Status ended = state_.end(split); !ended) return tl::unexpected<Error>(ended.error());
  return agreed(split_outcome_);
}

Result<std::size_t> PosixCollectiveFile::read_at_all_end() {
  return end(CollectiveState::Split::kRead);
}

Result<std::size_t> PosixCollectiveFile::write_at_all_end() {
  return end(CollectiveState::Split::kWrite);
}

Status PosixCollectiveFile::sync() {
  if (Status free = state_.check_collective("sync"); !free) return free;
  Status mine;
  if (uninterrupted([&] { return ::fdatasync(file_.get()); }) != 0) {
    mine = failed("sync", path());
  }
  return ranks_->agree(mine);
}

Status PosixCollectiveFile::close() {
  if (Status free = state_.check_collective("close"); !free) return free;
  state_.close();
  Status mine;
  if (::close(file_.release()) != 0) mine = failed("close", path());
  return ranks_->agree(mine);
}

}  // namespace

Status try_open(const std::string& path, FileIntent intent) {
  const Result<Descriptor> opened = open_here(path, intent);
  return opened ? Status() : Status(tl::unexpected<Error>(opened.error()));
}

Result<std::unique_ptr<CollectiveFile>> open_posix_file(std::shared_ptr<Communicator> ranks,
                                                        const std::string& path,
                                                        const CollectiveOpen& how) {
  Result<Descriptor> mine = open_here(path, how.intent);
  const Status outcome = mine ? Status() : Status(tl::unexpected<Error>(mine.error()));
  if (Status all = ranks->agree(outcome); !all) return tl::unexpected<Error>(all.error());
  return std::make_unique<PosixCollectiveFile>(std::move(ranks), CollectiveState(path, how.intent),
                                               std::move(*mine));
}

}  // namespace forebay::comm
