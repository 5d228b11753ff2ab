// SPDX-License-Identifier: Apache-2.0
// What people write by hand: a file for each process and step, through the page cache, with a sync
// at its end, or past the page cache; and one shared file for each step. No library, so these are
// the backbone of every comparison.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "base/descriptor.hpp"
#include "base/uninterrupted.hpp"
#include "bench/checkpoint/contender.hpp"
#include "bench/frame/slices.hpp"

namespace forebay::bench::checkpoint {

namespace {

constexpr std::uint64_t kBlockBytes = 4096;
constexpr std::uint64_t kTransferBytes = 8ULL << 20U;
constexpr std::uint64_t kBounceBytes = 2ULL << 20U;
constexpr mode_t kFileMode = 0644;

enum class Way : std::uint8_t { kPageCache, kSynced, kDirect, kShared };

std::uint64_t round_up(std::uint64_t bytes) {
  return (bytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
}

tl::unexpected<Error> failed(const char* operation, const std::filesystem::path& path) {
  const int error_number = errno;
  return failure(system_error({.operation = operation, .path = path.string()}, error_number));
}

Result<Descriptor> open_file(const std::filesystem::path& path, int flags) {
  Descriptor file(::open(path.c_str(), flags | O_CLOEXEC, kFileMode));
  if (!file) return failed("open", path);
  return file;
}

Status write_all(int file, std::span<const std::byte> bytes, std::uint64_t offset_bytes) {
  while (!bytes.empty()) {
    const std::size_t size = std::min<std::size_t>(bytes.size(), kTransferBytes);
    const auto written = uninterrupted(
        [&] { return ::pwrite(file, bytes.data(), size, static_cast<off_t>(offset_bytes)); });
    if (written < 0) return failed("write", "");
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    offset_bytes += static_cast<std::uint64_t>(written);
  }
  return {};
}

/// Reads until `bytes` is full, or the file ends; returns how many there are.
Result<std::size_t> read_up_to(int file, std::span<std::byte> bytes, std::uint64_t offset_bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const std::size_t size = std::min<std::size_t>(bytes.size() - done, kTransferBytes);
    const auto taken = uninterrupted([&] {
      return ::pread(file, bytes.data() + done, size, static_cast<off_t>(offset_bytes + done));
    });
    if (taken < 0) return failed("read", "");
    if (taken == 0) break;
    done += static_cast<std::size_t>(taken);
  }
  return done;
}

std::filesystem::path own_file(const Checkpoint& checkpoint,
                               std::uint32_t step,
                               std::uint32_t writer) {
  return checkpoint.folder / ("step" + std::to_string(step) + "." + std::to_string(writer));
}

std::filesystem::path shared_file(const Checkpoint& checkpoint, std::uint32_t step) {
  return checkpoint.folder / ("step" + std::to_string(step));
}

/// The last part of a block, which is no whole number of disk blocks: O_DIRECT wants it padded.
class Tail {
 public:
  explicit Tail(TouchedMemory memory) noexcept : memory_(std::move(memory)) {}
  std::span<const std::byte> padded(std::span<const std::byte> bytes) {
    const auto room = memory_.bytes();
    std::fill(room.begin(), room.end(), std::byte{});
    std::copy(bytes.begin(), bytes.end(), room.begin());
    return room;
  }

 private:
  TouchedMemory memory_;
};

class OwnFilesWriter final : public Writer {
 public:
  OwnFilesWriter(Way way, const Team& team, Checkpoint checkpoint, Tail tail)
      : way_(way), rank_(team.rank), checkpoint_(std::move(checkpoint)), tail_(std::move(tail)) {}

  Status write_step(std::uint32_t step, std::span<const std::byte> block) override {
    const auto path = own_file(checkpoint_, step, rank_);
    const int direct = way_ == Way::kDirect ? O_DIRECT : 0;
    const auto file = open_file(path, O_CREAT | O_TRUNC | O_WRONLY | direct);
    if (!file) return failure(file.error());
    const Status done = way_ == Way::kDirect ? write_directly(file->get(), block)
                                             : write_all(file->get(), block, 0);
    if (!done) return failure(located(done.error(), path.string()));
    if (way_ == Way::kPageCache) return {};
    return ::fsync(file->get()) == 0 ? Status() : failed("sync", path);
  }
  Status close() override { return {}; }

 private:
  Status write_directly(int file, std::span<const std::byte> block) {
    const auto reserved = static_cast<off_t>(round_up(block.size()));
    errno = ::posix_fallocate(file, 0, reserved);  // which does not set it
    if (errno != 0) return failed("reserve", "");
    const std::size_t whole = block.size() / kBlockBytes * kBlockBytes;
    if (auto done = write_all(file, block.first(whole), 0); !done) return done;
    if (whole == block.size()) return {};
    if (auto done = write_all(file, tail_.padded(block.subspan(whole)), whole); !done) return done;
    return ::ftruncate(file, static_cast<off_t>(block.size())) == 0 ? Status() : failed("cut", "");
  }

  Way way_;
  std::uint32_t rank_;
  Checkpoint checkpoint_;
  Tail tail_;
};

/// One file for each step; each rank opens it and writes its block at its place.
class SharedFileWriter final : public Writer {
 public:
  SharedFileWriter(const Team& team, Checkpoint checkpoint)
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
struct Piece {
  std::filesystem::path path;
  ByteRange in_file;
  std::uint64_t after = 0;  ///< bytes of the wanted range that come before it
};

std::vector<Piece> pieces_of(Way way,
                             const Checkpoint& checkpoint,
                             std::uint32_t step,
                             const ByteRange& range) {
  if (way == Way::kShared) return {{shared_file(checkpoint, step), range, 0}};
  std::vector<Piece> pieces;
  std::uint64_t block_begin = 0;
  const std::uint64_t range_end = range.offset + range.size;
  for (std::uint32_t writer = 0; writer < checkpoint.block_bytes.size(); ++writer) {
    const std::uint64_t block_end = block_begin + checkpoint.block_bytes[writer];
    const std::uint64_t begin = std::max(range.offset, block_begin);
    const std::uint64_t end = std::min(range_end, block_end);
    if (begin < end) {
      pieces.push_back({own_file(checkpoint, step, writer),
                        {begin - block_begin, end - begin},
                        begin - range.offset});
    }
    block_begin = block_end;
  }
  return pieces;
}

Status short_file(const Piece& piece) {
  return failure({.kind = ErrorClass::kShortFile,
                  .operation = "read",
                  .path = piece.path.string(),
                  .offset_bytes = piece.in_file.offset});
}

/// Reads pieces one after the other: past the page cache if asked to, in whole disk blocks. Pieces
/// of several files lie at any byte of the result, so that direct ones come through a small buffer
/// unless there is only one.
class OwnFilesReader final : public Reader {
 public:
  OwnFilesReader(Way way, Checkpoint checkpoint) : way_(way), checkpoint_(std::move(checkpoint)) {}

  Result<std::span<const std::byte>> read(std::uint32_t step,
                                          const ByteRange& range,
                                          std::span<std::byte> room) override {
    const auto pieces = pieces_of(way_, checkpoint_, step, range);
    if (way_ == Way::kDirect && pieces.size() == 1) return read_in_place(pieces.front(), room);
    for (const Piece& piece : pieces) {
      const auto target = room.subspan(piece.after, piece.in_file.size);
      const Status done =
          way_ == Way::kDirect ? read_directly(piece, target) : read_plainly(piece, target);
      if (!done) return failure(located(done.error(), piece.path.string()));
    }
    return room.first(range.size);
  }

 private:
  static Status read_plainly(const Piece& piece, std::span<std::byte> target) {
    const auto file = open_file(piece.path, O_RDONLY);
    if (!file) return failure(file.error());
    const auto taken = read_up_to(file->get(), target, piece.in_file.offset);
    if (!taken) return failure(taken.error());
    return *taken == target.size() ? Status() : short_file(piece);
  }

  /// The blocks around the piece, straight to where the application wants them.
  static Result<std::span<const std::byte>> read_in_place(const Piece& piece,
                                                          std::span<std::byte> room) {
    const std::uint64_t before = piece.in_file.offset % kBlockBytes;
    const auto file = open_file(piece.path, O_RDONLY | O_DIRECT);
    if (!file) return failure(file.error());
    const auto blocks = room.first(round_up(before + piece.in_file.size));
    const auto taken = read_up_to(file->get(), blocks, piece.in_file.offset - before);
    if (!taken) return failure(located(taken.error(), piece.path.string()));
    if (*taken < before + piece.in_file.size) return failure(short_file(piece).error());
    return room.subspan(before, piece.in_file.size);
  }

  Status read_directly(const Piece& piece, std::span<std::byte> target) {
    if (!bounce_) {
      auto made = TouchedMemory::make(kBounceBytes);
      if (!made) return failure(made.error());
      bounce_ = std::move(*made);
    }
    const auto file = open_file(piece.path, O_RDONLY | O_DIRECT);
    if (!file) return failure(file.error());
    std::uint64_t at = piece.in_file.offset;
    while (!target.empty()) {
      const std::uint64_t before = at % kBlockBytes;
      const auto size = std::min<std::size_t>(target.size(), kBounceBytes - before);
      const auto taken =
          read_up_to(file->get(), bounce_->bytes().first(round_up(before + size)), at - before);
      if (!taken) return failure(taken.error());
      if (*taken < before + size) return short_file(piece);
      std::memcpy(target.data(), bounce_->bytes().data() + before, size);
      target = target.subspan(size);
      at += size;
    }
    return {};
  }

  Way way_;
  Checkpoint checkpoint_;
  std::optional<TouchedMemory> bounce_;
};

class OwnFiles final : public Contender {
 public:
  OwnFiles(std::string name, Way way) : name_(std::move(name)), way_(way) {}

  std::string name() const override { return name_; }
  bool can_read() const override { return true; }
  Result<std::unique_ptr<Writer>> open(const Team& team,
                                       const Checkpoint& checkpoint) const override {
    if (way_ == Way::kShared) return std::make_unique<SharedFileWriter>(team, checkpoint);
    auto memory = TouchedMemory::make(kBlockBytes);
    if (!memory) return failure(memory.error());
    return std::make_unique<OwnFilesWriter>(way_, team, checkpoint, Tail(std::move(*memory)));
  }
  Result<std::unique_ptr<Reader>> open_to_read(const Team& /*team*/,
                                               const Checkpoint& checkpoint) const override {
    return std::make_unique<OwnFilesReader>(way_, checkpoint);
  }

 private:
  std::string name_;
  Way way_;
};

bool known(const char* name, Way way) {
  return register_contender(std::make_unique<OwnFiles>(name, way));
}

[[maybe_unused]] const bool kKnown[] = {
    known("fpp:page-cache", Way::kPageCache), known("fpp:fsync", Way::kSynced),
    known("fpp:direct", Way::kDirect), known("shared", Way::kShared)};

}  // namespace

}  // namespace forebay::bench::checkpoint
