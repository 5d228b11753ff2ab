// SPDX-License-Identifier: Apache-2.0
#include "tools/run/lazy_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace forebay::run {

namespace {

// cachestat() of Linux 6.5; the headers of older systems lack it.
constexpr long kCachestat = 451;
struct CachestatRange {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};
struct Cachestat {
  std::uint64_t cached = 0;
  std::uint64_t dirty = 0;
  std::uint64_t writeback = 0;
  std::uint64_t evicted = 0;
  std::uint64_t recently_evicted = 0;
};
constexpr std::uint64_t kCachePageBytes = 4096;

}  // namespace

void LazyFile::open() {
  Descriptor opened(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  struct stat found{};
  if (!opened || ::fstat(opened.get(), &found) != 0 || !S_ISREG(found.st_mode)) return;
  const bool is_same =
      ids_.inode == 0 || (ids_.inode == found.st_ino && ids_.device == found.st_dev);
  // Another file has this name by now, or the file was changed.
  if (!is_same || !push::is_unchanged(ids_.version, push::version_of(found))) return;
  ::posix_fadvise(opened.get(), 0, 0, POSIX_FADV_RANDOM);
  descriptor_ = std::move(opened);
}

int LazyFile::descriptor() {
  std::call_once(once_, [this] { open(); });
  return descriptor_ ? descriptor_.get() : -1;
}

bool LazyFile::is_cached(std::uint64_t offset, std::uint64_t size) {
  CachestatRange range{offset, size};
  Cachestat found;
  const bool is_known = ::syscall(kCachestat, descriptor(), &range, &found, 0) == 0;
  const std::uint64_t pages =
      (size + offset % kCachePageBytes + kCachePageBytes - 1) / kCachePageBytes;
  const bool is_cached = is_known && found.cached >= pages;
  if (is_cached)
    cached_in_a_row_.fetch_add(1, std::memory_order_relaxed);
  else
    cached_in_a_row_.store(0, std::memory_order_relaxed);
  return is_cached;
}

}  // namespace forebay::run
