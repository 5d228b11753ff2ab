// SPDX-License-Identifier: Apache-2.0
// The source to compare with: as N-body codes read today, each task has its own stream and blocks
// its thread while it reads.
#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>

#include <fmt/format.h>

#include "tipsy/layout.hpp"
#include "tipsy/snapshot_source.hpp"

namespace forebay::tipsy {

namespace {

constexpr std::uint64_t kChunkBytes = 256_KiB;

Error read_error(const std::string& path, ByteRange range, std::uint64_t count) {
  const int reason = errno;
  if (reason != 0) {
    return system_error({.operation = "read", .path = path, .offset_bytes = range.offset}, reason);
  }
  return Error({.kind = ErrorClass::kShortFile,
                .operation = "read",
                .path = path,
                .offset_bytes = range.offset + count,
                .cause = fmt::format("the file ended {} bytes early", range.size - count)});
}

/// A stream, with Errors that name path and cause.
class Stream {
 public:
  explicit Stream(const std::string& path) : path_(path) {
    errno = 0;
    stream_.open(path, std::ios::binary);
    open_errno_ = stream_ ? 0 : errno;
  }

  Status open_status() const {
    if (stream_.is_open()) return {};
    return failure(system_error({.operation = "open", .path = path_}, open_errno_));
  }

  Status read(ByteRange range, std::byte* into) {
    errno = 0;
    stream_.clear();
    stream_.seekg(static_cast<std::streamoff>(range.offset));
    stream_.read(reinterpret_cast<char*>(into), static_cast<std::streamsize>(range.size));
    const auto count = static_cast<std::uint64_t>(stream_.gcount());
    if (stream_ && count == range.size) return {};
    return failure(read_error(path_, range, count));
  }

  Result<std::uint64_t> size_bytes() {
    errno = 0;
    stream_.seekg(0, std::ios::end);
    const std::streamoff end = stream_.tellg();
    if (end >= 0) return static_cast<std::uint64_t>(end);
    return failure(system_error({.operation = "seek", .path = path_}, errno));
  }

 private:
  const std::string& path_;
  std::ifstream stream_;
  int open_errno_ = 0;
};

class IfstreamReader final : public TaskReader {
 public:
  IfstreamReader(const std::string& path, std::uint64_t file_bytes, ByteRange range)
      : path_(path), file_bytes_(file_bytes), remaining_(range), stream_(path) {}

  bool is_done() const override { return remaining_.empty(); }

  Future<DataChunk> next_chunk() override {
    const ByteRange chunk{remaining_.offset, std::min(remaining_.size, kChunkBytes)};
    if (Status read = read_into_buffer(chunk); !read) return std::move(read).error();
    remaining_ = {chunk.end(), remaining_.size - chunk.size};
    return DataChunk(std::span(buffer_.get(), chunk.size));
  }

 private:
  Status read_into_buffer(ByteRange range) {
    if (const Status opened = stream_.open_status(); !opened) return opened;
    if (!buffer_) {
      buffer_ = std::make_unique_for_overwrite<std::byte[]>(std::min(remaining_.size, kChunkBytes));
      if (const Status checked = check_size(); !checked) return checked;
    }
    return stream_.read(range, buffer_.get());
  }

  /// Reads the header and compares the size before seeking, as each TreePiece of ChaNGa does.
  Status check_size() {
    std::array<std::byte, kShortHeaderBytes> header;
    if (const Status read = stream_.read({0, header.size()}, header.data()); !read) return read;
    const Result<std::uint64_t> size = stream_.size_bytes();
    if (!size) return failure(size.error());
    if (*size == file_bytes_) return {};
    return failure(
        {.kind = *size < file_bytes_ ? ErrorClass::kShortFile : ErrorClass::kIo,
         .operation = "open",
         .path = path_,
         .offset_bytes = *size,
         .cause = fmt::format("the file had {} bytes and now has {}", file_bytes_, *size)});
  }

  const std::string& path_;
  std::uint64_t file_bytes_;
  ByteRange remaining_;
  Stream stream_;
  std::unique_ptr<std::byte[]> buffer_;
};

class IfstreamSource final : public SnapshotSource {
 public:
  IfstreamSource(std::string path, std::uint64_t file_bytes)
      : path_(std::move(path)), file_bytes_(file_bytes) {}

  std::uint64_t file_bytes() const override { return file_bytes_; }
  EventLoop& loop() override { return loop_; }

  Status read_ranges(std::span<const ByteRange> ranges, std::span<std::byte> into) override {
    Stream stream(path_);
    if (const Status opened = stream.open_status(); !opened) return opened;
    for (const ByteRange& range : ranges) {
      if (const Status read = stream.read(range, into.data()); !read) return read;
      into = into.subspan(range.size);
    }
    return {};
  }

  Status begin_session(ByteRange /*extent*/) override { return {}; }

  std::unique_ptr<TaskReader> make_reader(ByteRange range) const override {
    return std::make_unique<IfstreamReader>(path_, file_bytes_, range);
  }

 private:
  std::string path_;
  std::uint64_t file_bytes_;
  EventLoop loop_;
};

}  // namespace

Result<std::unique_ptr<SnapshotSource>> open_ifstream_source(const std::string& path) {
  Stream stream(path);
  if (const Status opened = stream.open_status(); !opened) return failure(opened.error());
  const Result<std::uint64_t> size = stream.size_bytes();
  if (!size) return failure(size.error());
  return std::make_unique<IfstreamSource>(path, *size);
}

}  // namespace forebay::tipsy
