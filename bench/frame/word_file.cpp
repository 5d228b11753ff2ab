// SPDX-License-Identifier: Apache-2.0
// Writes word files in chunks, after a check of free space.
#include "bench/frame/word_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/assert.hpp"
#include "base/descriptor.hpp"
#include "base/retry_on_eintr.hpp"

namespace forebay::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kWordBytes = sizeof(std::uint64_t);
constexpr std::size_t kChunkBytes = 4U << 20U;
// Reserve of free space: a full disk affects all its users.
constexpr std::uint64_t kReserveBytes = 256ULL << 20U;

tl::unexpected<Error> io_failure(const char* operation, const fs::path& path, int error_number) {
  return tl::unexpected(
      system_error({.operation = operation, .path = path.string()}, error_number));
}

void fill_words(std::vector<std::uint64_t>& words, std::uint64_t offset_bytes) {
  for (std::uint64_t& word : words) {
    word = offset_bytes;
    offset_bytes += kWordBytes;
  }
}

int write_chunk(int fd, const char* from, std::size_t size_bytes, std::uint64_t offset_bytes) {
  while (size_bytes > 0) {
    const ssize_t put = retry_on_eintr(
        [&] { return pwrite(fd, from, size_bytes, static_cast<off_t>(offset_bytes)); });
    if (put < 0) return errno;
    from += put;
    size_bytes -= static_cast<std::size_t>(put);
    offset_bytes += static_cast<std::uint64_t>(put);
  }
  return 0;
}

int write_words(int fd, std::uint64_t size_bytes, const ByteProgress& on_progress) {
  std::vector<std::uint64_t> words(kChunkBytes / kWordBytes);
  for (std::uint64_t at = 0; at < size_bytes; at += kChunkBytes) {
    fill_words(words, at);
    const std::uint64_t part = std::min<std::uint64_t>(kChunkBytes, size_bytes - at);
    const int error_number = write_chunk(fd, reinterpret_cast<const char*>(words.data()), part, at);
    if (error_number != 0) return error_number;
    if (on_progress) on_progress(at + part, size_bytes);
  }
  return fdatasync(fd) == 0 ? 0 : errno;
}

}  // namespace

Status require_space(const fs::path& directory, std::uint64_t size_bytes) {
  std::error_code error;
  const fs::space_info space = fs::space(directory, error);
  if (error) return io_failure("get free space", directory, error.value());
  if (space.available >= size_bytes + kReserveBytes) return {};
  constexpr double kMiB = 1 << 20;
  return failure(
      {.kind = ErrorClass::kNoSpace,
       .operation = "reserve space",
       .path = directory.string(),
       .cause = fmt::format("{:.0f} MiB are needed and {:.0f} MiB are free; free some or "
                            "choose another directory with --dir",
                            static_cast<double>(size_bytes + kReserveBytes) / kMiB,
                            static_cast<double>(space.available) / kMiB)});
}

Status write_word_file(const fs::path& path,
                       std::uint64_t size_bytes,
                       const ByteProgress& on_progress) {
  FOREBAY_ASSERT(size_bytes % kWordBytes == 0);
  if (const Status room = require_space(path.parent_path(), size_bytes); !room) return room;
  const Descriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file) return io_failure("create", path, errno);
  const int error_number = write_words(file.get(), size_bytes, on_progress);
  if (error_number == 0) return {};
  unlink(path.c_str());
  return io_failure("write", path, error_number);
}

std::optional<std::uint64_t> first_mismatched_word(std::span<const std::byte> bytes,
                                                   std::uint64_t offset_bytes) {
  FOREBAY_ASSERT(bytes.size() % kWordBytes == 0);
  for (std::size_t at = 0; at < bytes.size(); at += kWordBytes) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, kWordBytes);
    if (word != offset_bytes + at) return offset_bytes + at;
  }
  return std::nullopt;
}

}  // namespace forebay::bench
