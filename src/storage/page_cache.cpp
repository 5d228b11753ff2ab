// SPDX-License-Identifier: Apache-2.0
// How much of a file is in the page cache: cachestat(2), and mincore(2) on a mapping that is never
// touched where the kernel is older than 6.5. Both are asked about a few samples only, because both
// walk what they are asked about.
#include <algorithm>
#include <array>
#include <cstdint>

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "storage/file_system.hpp"

namespace forebay::storage {

namespace {

constexpr std::uint64_t kSampleBytes = std::uint64_t{1} << 20U;
constexpr std::uint64_t kSampleCount = 16;
constexpr std::uint64_t kPageBytesMin = 4096;

#ifdef SYS_cachestat
constexpr long kCachestatNumber = SYS_cachestat;
#else
constexpr long kCachestatNumber =
    451;  // the same on all architectures; libc headers are older than the call
#endif

// The kernel's structures for cachestat(2).
struct CachestatRange {
  std::uint64_t offset;
  std::uint64_t length;
};
struct Cachestat {
  std::uint64_t cached;
  std::uint64_t dirty;
  std::uint64_t writeback;
  std::uint64_t evicted;
  std::uint64_t recently_evicted;
};

std::uint64_t page_bytes() noexcept { return static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)); }

std::uint64_t pages_of(ByteRange range) noexcept {
  const std::uint64_t page = page_bytes();
  return (range.end() + page - 1) / page - range.offset / page;
}

std::optional<std::uint64_t> cached_pages_by_cachestat(int descriptor, ByteRange range) noexcept {
  CachestatRange asked{range.offset, range.size};
  Cachestat found{};
  if (::syscall(kCachestatNumber, descriptor, &asked, &found, 0U) != 0) return std::nullopt;
  return std::min(found.cached, pages_of(range));
}

/// mincore() calls every page resident for those who may not write to the file: then it says
/// nothing.
bool mincore_tells(int descriptor) noexcept {
  struct stat found{};
  if (::fstat(descriptor, &found) != 0) return false;
  return found.st_uid == ::geteuid() || ::geteuid() == 0;
}

std::optional<std::uint64_t> cached_pages_by_mincore(int descriptor, ByteRange range) noexcept {
  if (!mincore_tells(descriptor)) return std::nullopt;
  const std::uint64_t first = range.offset / page_bytes() * page_bytes();
  const std::uint64_t mapped_bytes = range.end() - first;
  void* const mapping =
      ::mmap(nullptr, mapped_bytes, PROT_NONE, MAP_SHARED, descriptor, static_cast<off_t>(first));
  if (mapping == MAP_FAILED) return std::nullopt;
  std::array<unsigned char, kSampleBytes / kPageBytesMin + 2> resident{};
  const int failed = ::mincore(mapping, mapped_bytes, resident.data());
  ::munmap(mapping, mapped_bytes);
  if (failed != 0) return std::nullopt;
  const std::span<const unsigned char> pages(resident.data(), pages_of(range));
  return static_cast<std::uint64_t>(
      std::ranges::count_if(pages, [](unsigned char page) { return (page & 1U) != 0; }));
}

std::optional<std::uint64_t> cached_pages(int descriptor, ByteRange range) noexcept {
  const auto cached = cached_pages_by_cachestat(descriptor, range);
  return cached ? cached : cached_pages_by_mincore(descriptor, range);
}

}  // namespace

std::optional<double> cached_fraction_of(int descriptor, ByteRange range) noexcept {
  if (range.empty()) return std::nullopt;
  // Samples are spread so that the first begins and the last ends with the range; a short range is
  // asked about whole, sample by sample.
  const std::uint64_t samples =
      std::clamp<std::uint64_t>((range.size + kSampleBytes - 1) / kSampleBytes, 1, kSampleCount);
  const std::uint64_t sample_bytes = std::min(range.size, kSampleBytes);
  const std::uint64_t last_offset = range.end() - sample_bytes;
  std::uint64_t cached = 0;
  std::uint64_t asked = 0;
  for (std::uint64_t i = 0; i < samples; ++i) {
    const std::uint64_t step = samples == 1 ? 0 : (last_offset - range.offset) / (samples - 1);
    const ByteRange sample{range.offset + i * step, sample_bytes};
    const auto found = cached_pages(descriptor, sample);
    if (!found) return std::nullopt;
    cached += *found;
    asked += pages_of(sample);
  }
  return static_cast<double>(cached) / static_cast<double>(asked);
}

}  // namespace forebay::storage
