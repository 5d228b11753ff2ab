// SPDX-License-Identifier: Apache-2.0
// Drops, reads and counts the cached pages of one file.
#include "tools/probe/page_cache.hpp"

#include <cerrno>
#include <cstdint>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/descriptor.hpp"
#include "base/retry_on_eintr.hpp"

namespace forebay::probe {
namespace {

namespace fs = std::filesystem;

// Pages in use by a kernel thread may stay. With more than this, the file is not cold, or not warm.
constexpr double kResidualFraction = 0.001;

Descriptor open_to_read(const fs::path& path) {
  return Descriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC));
}

tl::unexpected<Error> failed(const char* operation, const fs::path& path, int error_number) {
  return tl::unexpected(
      system_error({.operation = operation, .path = path.string()}, error_number));
}

// The interface of cachestat(2) (Linux 6.5), which headers of Debian 12 do not declare.
constexpr long kCachestatCall = 451;
struct CachestatRange {
  std::uint64_t offset;
  std::uint64_t size;
};
struct CachestatCounts {
  std::uint64_t cached;
  std::uint64_t dirty;
  std::uint64_t in_writeback;
  std::uint64_t evicted;
  std::uint64_t recently_evicted;
};

std::uint64_t page_bytes() { return static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)); }

bool count_by_cachestat(int fd, std::uint64_t& pages) {
  CachestatRange whole{0, 0};
  CachestatCounts counts{};
  if (syscall(kCachestatCall, fd, &whole, &counts, 0) != 0) return false;
  pages = counts.cached;
  return true;
}

bool count_by_mincore(int fd, std::uint64_t size_bytes, std::uint64_t& pages) {
  void* const map = mmap(nullptr, size_bytes, PROT_READ, MAP_SHARED, fd, 0);
  if (map == MAP_FAILED) return false;
  std::vector<unsigned char> states((size_bytes + page_bytes() - 1) / page_bytes());
  const bool succeeded = mincore(map, size_bytes, states.data()) == 0;
  munmap(map, size_bytes);
  pages = 0;
  for (const unsigned char state : states)
    pages += state & 1U;
  return succeeded;
}

Result<double> fraction_of(int fd, const fs::path& path) {
  struct stat facts{};
  if (fstat(fd, &facts) != 0) return failed("stat", path, errno);
  const auto size_bytes = static_cast<std::uint64_t>(facts.st_size);
  if (size_bytes == 0) return 0.0;
  std::uint64_t pages = 0;
  if (!count_by_cachestat(fd, pages) && !count_by_mincore(fd, size_bytes, pages)) {
    return failed("count cached pages", path, errno);
  }
  const std::uint64_t all_pages = (size_bytes + page_bytes() - 1) / page_bytes();
  return static_cast<double>(pages) / static_cast<double>(all_pages);
}

Result<std::uint64_t> read_whole(int fd, const fs::path& path) {
  constexpr std::size_t kReadBytes = 4U << 20U;
  std::vector<std::byte> buffer(kReadBytes);
  off_t at = 0;
  for (;;) {
    const ssize_t got = retry_on_eintr([&] { return pread(fd, buffer.data(), buffer.size(), at); });
    if (got < 0) return failed("read", path, errno);
    if (got == 0) return static_cast<std::uint64_t>(at);
    at += got;
  }
}

}  // namespace

Result<double> cached_fraction(const fs::path& path) {
  const Descriptor file = open_to_read(path);
  if (!file) return failed("open", path, errno);
  return fraction_of(file.get(), path);
}

Status drop_cached(const fs::path& path) {
  const Descriptor file = open_to_read(path);
  if (!file) return failed("open", path, errno);
  if (fdatasync(file.get()) != 0) return failed("sync", path, errno);
  // A second try helps if pages were in a per-processor batch of the kernel during the first.
  constexpr int kTries = 3;
  double left = 1;
  for (int i = 0; i < kTries && left > kResidualFraction; ++i) {
    const int error_number = posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED);
    if (error_number != 0) return failed("drop from the page cache", path, error_number);
    const Result<double> fraction = fraction_of(file.get(), path);
    if (!fraction) return tl::unexpected(fraction.error());
    left = *fraction;
  }
  if (left <= kResidualFraction) return {};
  return failure(
      {.kind = ErrorClass::kUnsupported,
       .operation = "drop from the page cache",
       .path = path.string(),
       .cause = fmt::format("{:.1f} % of it stays in memory; choose a directory on a disk, "
                            "not one in memory such as tmpfs",
                            left * 100)});
}

Status warm(const fs::path& path) {
  const Descriptor file = open_to_read(path);
  if (!file) return failed("open", path, errno);
  // The kernel may reclaim some pages while the rest is read, as after a file was dropped.
  constexpr int kTries = 3;
  double cached = 0;
  for (int i = 0; i < kTries; ++i) {
    const Result<std::uint64_t> size_bytes = read_whole(file.get(), path);
    if (!size_bytes) return tl::unexpected(size_bytes.error());
    if (*size_bytes == 0) return {};
    const Result<double> fraction = fraction_of(file.get(), path);
    if (!fraction) return tl::unexpected(fraction.error());
    if (*fraction >= 1 - kResidualFraction) return {};
    cached = *fraction;
  }
  return failure({.kind = ErrorClass::kLimit,
                  .operation = "bring into the page cache",
                  .path = path.string(),
                  .cause = fmt::format("only {:.1f} % of it stayed; free memory or choose a "
                                       "smaller size",
                                       cached * 100)});
}

}  // namespace forebay::probe
