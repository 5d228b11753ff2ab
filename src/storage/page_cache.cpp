// SPDX-License-Identifier: Apache-2.0
// Share of a file in the page cache: cachestat(2), or mincore(2) on a mapping that is never
// accessed if the kernel is older than 6.5. Both are called for a few samples only, as both walk
// their whole range.
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

// Enough samples for an error of a few percent, few enough for a tenth of a millisecond in total.
constexpr std::uint64_t kSampleBytes = std::uint64_t{256} << 10U;
constexpr std::uint64_t kSampleCount = 64;
constexpr std::uint64_t kPageBytesMin = 4096;

#ifdef SYS_cachestat
constexpr long kCachestatNumber = SYS_cachestat;
#else
constexpr long kCachestatNumber = 451;  // the same on all architectures; newer than libc headers
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
  CachestatRange query{range.offset, range.size};
  Cachestat found{};
  if (::syscall(kCachestatNumber, descriptor, &query, &found, 0U) != 0) return std::nullopt;
  return std::min(found.cached, pages_of(range));
}

/// Without write access to the file, mincore() reports every page as resident: the result is then
/// meaningless.
bool is_mincore_reliable(int descriptor) noexcept {
  const uid_t user = ::geteuid();
  if (user == 0) return true;
  struct stat found{};  // perhaps a round trip to a server
  return ::fstat(descriptor, &found) == 0 && found.st_uid == user;
}

std::optional<std::uint64_t> cached_pages_by_mincore(int descriptor, ByteRange range) noexcept {
  if (!is_mincore_reliable(descriptor)) return std::nullopt;
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

/// A pseudo-random number below `limit`, the same on each call (splitmix64).
std::uint64_t pseudo_random_below(std::uint64_t index, std::uint64_t limit) noexcept {
  std::uint64_t bits = (index + 1) * 0x9E3779B97F4A7C15U;
  bits = (bits ^ (bits >> 30U)) * 0xBF58476D1CE4E5B9U;
  bits = (bits ^ (bits >> 27U)) * 0x94D049BB133111EBU;
  return (bits ^ (bits >> 31U)) % limit;
}

/// The sample of the `index`-th of kSampleCount equal parts of a long range: at a random place in
/// it. Evenly spaced samples would be wrong for files that were read with a stride.
ByteRange sample_range(ByteRange range, std::uint64_t index) noexcept {
  const std::uint64_t part_bytes = range.size / kSampleCount;
  const std::uint64_t first = range.offset + index * part_bytes;
  return {first + pseudo_random_below(index, part_bytes - kSampleBytes + 1), kSampleBytes};
}

/// The `index`-th piece of a short range, which is checked whole; empty after the last one.
ByteRange chunk_range(ByteRange range, std::uint64_t index) noexcept {
  return intersect({range.offset + index * kSampleBytes, kSampleBytes}, range);
}

}  // namespace

std::optional<double> cached_fraction_of(int descriptor, ByteRange range) noexcept {
  if (range.empty()) return std::nullopt;
  const bool is_sampled = range.size > kSampleCount * kSampleBytes;
  std::uint64_t cached = 0;
  std::uint64_t query = 0;
  for (std::uint64_t i = 0; i < kSampleCount; ++i) {
    const ByteRange sample = is_sampled ? sample_range(range, i) : chunk_range(range, i);
    if (sample.empty()) break;
    const auto found = cached_pages(descriptor, sample);
    if (!found) return std::nullopt;
    cached += *found;
    query += pages_of(sample);
  }
  return static_cast<double>(cached) / static_cast<double>(query);
}

}  // namespace forebay::storage
