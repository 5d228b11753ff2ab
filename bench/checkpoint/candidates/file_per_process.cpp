// SPDX-License-Identifier: Apache-2.0
// Methods written by hand: a file for each process and step, through the page cache, with or
// without a sync at its end, or past the page cache; and one shared file for each step. They use no
// library, so they are the baseline of every comparison.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "base/descriptor.hpp"
#include "base/retry_on_eintr.hpp"
#include "bench/checkpoint/candidate.hpp"
#include "bench/frame/file_partition.hpp"

namespace forebay::bench::checkpoint {

namespace {

constexpr std::uint64_t kBlockBytes = 4096;
constexpr std::uint64_t kTransferBytes = 8ULL << 20U;
constexpr std::uint64_t kBounceBytes = 2ULL << 20U;
constexpr mode_t kFileMode = 0644;

enum class FileMode : std::uint8_t { kPageCache, kSynced, kDirect, kShared };

std::uint64_t round_up(std::uint64_t bytes) {
  return (bytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
}

tl::unexpected<Error> io_failure(const char* operation, const std::filesystem::path& path) {
  const int error_number = errno;
  return failure(system_error({.operation = operation, .path = path.string()}, error_number));
}

Result<Descriptor> open_file(const std::filesystem::path& path, int flags) {
  Descriptor file(::open(path.c_str(), flags | O_CLOEXEC, kFileMode));
  if (!file) return io_failure("open", path);
  return file;
}

Status write_all(int file, std::span<const std::byte> bytes, std::uint64_t offset_bytes) {
  while (!bytes.empty()) {
    const std::size_t size = std::min<std::size_t>(bytes.size(), kTransferBytes);
    const auto written = retry_on_eintr(
        [&] { return ::pwrite(file, bytes.data(), size, static_cast<off_t>(offset_bytes)); });
    if (written < 0) return io_failure("write", "");
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    offset_bytes += static_cast<std::uint64_t>(written);
  }
  return {};
}

/// Reads until `bytes` is full, or the file ends; returns the number of bytes.
Result<std::size_t> read_up_to(int file, std::span<std::byte> bytes, std::uint64_t offset_bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const std::size_t size = std::min<std::size_t>(bytes.size() - done, kTransferBytes);
    const auto taken = retry_on_eintr([&] {
      return ::pread(file, bytes.data() + done, size, static_cast<off_t>(offset_bytes + done));
    });
    if (taken < 0) return io_failure("read", "");
    if (taken == 0) break;
    done += static_cast<std::size_t>(taken);
  }
  return done;
}

std::filesystem::path process_file(const Checkpoint& checkpoint,
                                   std::uint32_t step,
                                   std::uint32_t writer) {
  return checkpoint.directory / ("step" + std::to_string(step) + "." + std::to_string(writer));
}

std::filesystem::path shared_file(const Checkpoint& checkpoint, std::uint32_t step) {
  return checkpoint.directory / ("step" + std::to_string(step));
}

/// The last part of a block, which is not a multiple of the disk block size: O_DIRECT requires
/// padding.
class PaddedTail {
 public:
  explicit PaddedTail(PrefaultedMemory memory) noexcept : memory_(std::move(memory)) {}
  std::span<const std::byte> padded(std::span<const std::byte> bytes) {
    const auto buffer = memory_.bytes();
    std::fill(buffer.begin(), buffer.end(), std::byte{});
    std::copy(bytes.begin(), bytes.end(), buffer.begin());
    return buffer;
  }

 private:
  PrefaultedMemory memory_;
};

class FilePerProcessWriter final : public Writer {
 public:
  FilePerProcessWriter(FileMode mode, const RankTeam& team, Checkpoint checkpoint, PaddedTail tail)
      : mode_(mode),
        rank_(team.rank),
        checkpoint_(std::move(checkpoint)),
        padded_tail_(std::move(tail)) {}

  Status write_step(std::uint32_t step, std::span<const std::byte> block) override {
    const auto path = process_file(checkpoint_, step, rank_);
    const int direct = mode_ == FileMode::kDirect ? O_DIRECT : 0;
    const auto file = open_file(path, O_CREAT | O_TRUNC | O_WRONLY | direct);
    if (!file) return failure(file.error());
    const Status done = mode_ == FileMode::kDirect ? write_direct(file->get(), block)
                                                   : write_all(file->get(), block, 0);
    if (!done) return failure(with_location(done.error(), path.string()));
    if (mode_ == FileMode::kPageCache) return {};
    return ::fsync(file->get()) == 0 ? Status() : io_failure("sync", path);
  }
  Status close() override { return {}; }

 private:
  Status write_direct(int file, std::span<const std::byte> block) {
    const auto reserved = static_cast<off_t>(round_up(block.size()));
    errno = ::posix_fallocate(file, 0, reserved);  // which does not set it
    if (errno != 0) return io_failure("allocate space", "");
    const std::size_t whole = block.size() / kBlockBytes * kBlockBytes;
    if (auto done = write_all(file, block.first(whole), 0); !done) return done;
    if (whole == block.size()) return {};
    if (auto done = write_all(file, padded_tail_.padded(block.subspan(whole)), whole); !done)
      return done;
    return ::ftruncate(file, static_cast<off_t>(block.size())) == 0 ? Status()
                                                                    : io_failure("truncate", "");
  }

  FileMode mode_;
  std::uint32_t rank_;
  Checkpoint checkpoint_;
  PaddedTail padded_tail_;
};

/// One file for each step; each rank opens it and writes its block at its offset.
class SharedFileWriter final : public Writer {
 public:
  SharedFileWriter(const RankTeam& team, Checkpoint checkpoint)
      : rank_(team.rank), checkpoint_(std::move(checkpoint)) {}

  Status write_step(std::uint32_t step, std::span<const std::byte> block) override {
    const auto path = shared_file(checkpoint_, step);
    const auto file = open_file(path, O_CREAT | O_WRONLY);
    if (!file) return failure(file.error());
    return write_all(file->get(), block, checkpoint_.offset_of(rank_));
  }
  Status close() override { return {}; }

 private:
  std::uint32_t rank_;
  Checkpoint checkpoint_;
};

/// A piece of a step that lies in one file.
struct FileRange {
  std::filesystem::path path;
  ByteRange in_file;
  std::uint64_t buffer_offset = 0;  ///< offset in the requested range
};

std::vector<FileRange> file_ranges_of(FileMode mode,
                                      const Checkpoint& checkpoint,
                                      std::uint32_t step,
                                      const ByteRange& range) {
  if (mode == FileMode::kShared) return {{shared_file(checkpoint, step), range, 0}};
  std::vector<FileRange> file_ranges;
  std::uint64_t block_begin = 0;
  const std::uint64_t range_end = range.offset + range.size;
  for (std::uint32_t writer = 0; writer < checkpoint.block_bytes.size(); ++writer) {
    const std::uint64_t block_end = block_begin + checkpoint.block_bytes[writer];
    const std::uint64_t begin = std::max(range.offset, block_begin);
    const std::uint64_t end = std::min(range_end, block_end);
    if (begin < end) {
      file_ranges.push_back({process_file(checkpoint, step, writer),
                             {begin - block_begin, end - begin},
                             begin - range.offset});
    }
    block_begin = block_end;
  }
  return file_ranges;
}

Status short_file(const FileRange& file_range) {
  return failure({.kind = ErrorClass::kShortFile,
                  .operation = "read",
                  .path = file_range.path.string(),
                  .offset_bytes = file_range.in_file.offset});
}

/// Reads pieces one at a time; with kDirect past the page cache, in whole disk blocks. Pieces of
/// several files begin at any byte of the result, so direct reads go through a small buffer unless
/// there is a single piece.
class FilePerProcessReader final : public Reader {
 public:
  FilePerProcessReader(FileMode mode, Checkpoint checkpoint)
      : mode_(mode), checkpoint_(std::move(checkpoint)) {}

  Result<std::span<const std::byte>> read(std::uint32_t step,
                                          const ByteRange& range,
                                          std::span<std::byte> buffer) override {
    const auto file_ranges = file_ranges_of(mode_, checkpoint_, step, range);
    if (mode_ == FileMode::kDirect && file_ranges.size() == 1)
      return read_in_place(file_ranges.front(), buffer);
    for (const FileRange& file_range : file_ranges) {
      const auto target = buffer.subspan(file_range.buffer_offset, file_range.in_file.size);
      const Status done = mode_ == FileMode::kDirect ? read_direct(file_range, target)
                                                     : read_buffered(file_range, target);
      if (!done) return failure(with_location(done.error(), file_range.path.string()));
    }
    return buffer.first(range.size);
  }

 private:
  static Status read_buffered(const FileRange& file_range, std::span<std::byte> target) {
    const auto file = open_file(file_range.path, O_RDONLY);
    if (!file) return failure(file.error());
    const auto taken = read_up_to(file->get(), target, file_range.in_file.offset);
    if (!taken) return failure(taken.error());
    return *taken == target.size() ? Status() : short_file(file_range);
  }

  /// Reads the disk blocks around the piece, directly into the application's buffer.
  static Result<std::span<const std::byte>> read_in_place(const FileRange& file_range,
                                                          std::span<std::byte> buffer) {
    const std::uint64_t before = file_range.in_file.offset % kBlockBytes;
    const auto file = open_file(file_range.path, O_RDONLY | O_DIRECT);
    if (!file) return failure(file.error());
    const auto blocks = buffer.first(round_up(before + file_range.in_file.size));
    const auto taken = read_up_to(file->get(), blocks, file_range.in_file.offset - before);
    if (!taken) return failure(with_location(taken.error(), file_range.path.string()));
    if (*taken < before + file_range.in_file.size) return failure(short_file(file_range).error());
    return buffer.subspan(before, file_range.in_file.size);
  }

  Status read_direct(const FileRange& file_range, std::span<std::byte> target) {
    if (!bounce_) {
      auto made = PrefaultedMemory::make(kBounceBytes);
      if (!made) return failure(made.error());
      bounce_ = std::move(*made);
    }
    const auto file = open_file(file_range.path, O_RDONLY | O_DIRECT);
    if (!file) return failure(file.error());
    std::uint64_t at = file_range.in_file.offset;
    while (!target.empty()) {
      const std::uint64_t before = at % kBlockBytes;
      const auto size = std::min<std::size_t>(target.size(), kBounceBytes - before);
      const auto taken =
          read_up_to(file->get(), bounce_->bytes().first(round_up(before + size)), at - before);
      if (!taken) return failure(taken.error());
      if (*taken < before + size) return short_file(file_range);
      std::memcpy(target.data(), bounce_->bytes().data() + before, size);
      target = target.subspan(size);
      at += size;
    }
    return {};
  }

  FileMode mode_;
  Checkpoint checkpoint_;
  std::optional<PrefaultedMemory> bounce_;
};

class FilePerProcess final : public Candidate {
 public:
  FilePerProcess(std::string name, FileMode mode) : name_(std::move(name)), mode_(mode) {}

  std::string name() const override { return name_; }
  bool can_read() const override { return true; }
  Result<std::unique_ptr<Writer>> open(const RankTeam& team,
                                       const Checkpoint& checkpoint) const override {
    if (mode_ == FileMode::kShared) return std::make_unique<SharedFileWriter>(team, checkpoint);
    auto memory = PrefaultedMemory::make(kBlockBytes);
    if (!memory) return failure(memory.error());
    return std::make_unique<FilePerProcessWriter>(mode_, team, checkpoint,
                                                  PaddedTail(std::move(*memory)));
  }
  Result<std::unique_ptr<Reader>> open_to_read(const RankTeam& /*team*/,
                                               const Checkpoint& checkpoint) const override {
    return std::make_unique<FilePerProcessReader>(mode_, checkpoint);
  }

 private:
  std::string name_;
  FileMode mode_;
};

bool register_variant(const char* name, FileMode mode) {
  return register_candidate(std::make_unique<FilePerProcess>(name, mode));
}

[[maybe_unused]] const bool kRegistered[] = {
    register_variant("fpp:page-cache", FileMode::kPageCache),
    register_variant("fpp:fsync", FileMode::kSynced),
    register_variant("fpp:direct", FileMode::kDirect),
    register_variant("shared", FileMode::kShared)};

}  // namespace

}  // namespace forebay::bench::checkpoint
