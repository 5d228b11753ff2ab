// SPDX-License-Identifier: Apache-2.0
#include "tools/run/lazy_file.hpp"

#include <chrono>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
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

constexpr std::chrono::seconds kOpenInterval{1};

}  // namespace

/// First without opening it for I/O: that would have an effect on a FIFO or a device.
Descriptor LazyFile::open_checked() const {
  const Descriptor place = open_path(path_, O_PATH | O_CLOEXEC);
  // What the client of the file system has cached: asking the server would cost a round trip.
  struct statx found{};
  constexpr unsigned kWanted = STATX_TYPE | STATX_INO | STATX_SIZE | STATX_MTIME;
  const bool is_known =
      place && ::statx(place.get(), "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, kWanted, &found) == 0;
  if (!is_known || !S_ISREG(found.stx_mode)) return {};
  const bool is_same =
      ids_.inode == 0 || (ids_.inode == found.stx_ino &&
                          ids_.device == ::makedev(found.stx_dev_major, found.stx_dev_minor));
  const push::FileVersion version{
      found.stx_size, static_cast<std::uint64_t>(found.stx_mtime.tv_sec) * 1'000'000'000U +
                          found.stx_mtime.tv_nsec};
  // Another file has this name by now, or the file was changed.
  if (!is_same || !push::is_unchanged(ids_.version, version)) return {};
  const std::string link = "/proc/self/fd/" + std::to_string(place.get());
  constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  Descriptor opened = open_path(link, kFlags | O_NOATIME);
  if (!opened) opened = open_path(link, kFlags);  // the file of another user
  if (opened) ::posix_fadvise(opened.get(), 0, 0, POSIX_FADV_RANDOM);
  return opened;
}

std::shared_ptr<const Descriptor> LazyFile::open() {
  const std::lock_guard lock(mutex_);
  last_use_ = std::chrono::steady_clock::now();
  if (file_ || last_use_ - last_refusal_ < kOpenInterval) return file_;
  if (Descriptor opened = open_checked())
    file_ = std::make_shared<const Descriptor>(std::move(opened));
  else
    last_refusal_ = last_use_;
  return file_;
}

bool LazyFile::close_idle(TimePoint since) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock || last_use_ >= since) return false;
  file_.reset();
  return true;
}

bool LazyFile::is_cached(const Descriptor& file, std::uint64_t offset, std::uint64_t size) {
  CachestatRange range{offset, size};
  Cachestat found;
  const bool is_known = ::syscall(kCachestat, file.get(), &range, &found, 0) == 0;
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
