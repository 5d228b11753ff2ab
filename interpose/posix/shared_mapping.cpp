// SPDX-License-Identifier: Apache-2.0
// A whole memory has 69 MB, which mlockall() would load. So a process maps rings one by one, and
// without a descriptor: another thread of the program could expect its number.
#include "interpose/posix/shared_mapping.hpp"

#include <atomic>
#include <cstring>

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

namespace forebay::interpose {

namespace {

using trace::RunMemory;
using trace::RunRing;

constexpr char kMemoryLink[] = "/memfd:forebay-run";

constinit std::array<std::atomic<RunRing*>, RunMemory::kRings> rings{};

bool is_address_space_limited() noexcept {
  struct rlimit limit{};
  return ::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY;
}

/// Before it is opened: to open a device of another process could have an effect.
bool is_memory_link(const char* path) noexcept {
  std::array<char, sizeof kMemoryLink> link{};
  const ssize_t length = ::readlink(path, link.data(), link.size() - 1);
  return length == static_cast<ssize_t>(link.size() - 1) &&
         std::memcmp(link.data(), kMemoryLink, link.size() - 1) == 0;
}

/// No process can shorten it, which would end this one.
bool is_sealed(int descriptor) noexcept {
  constexpr long kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  const long seals = ::syscall(SYS_fcntl, descriptor, F_GET_SEALS, 0);
  struct stat found{};
  return seals >= 0 && (seals & kSeals) == kSeals && ::fstat(descriptor, &found) == 0 &&
         (found.st_uid == ::geteuid() || found.st_uid == 0) &&
         found.st_size >= static_cast<off_t>(sizeof(RunMemory));
}

}  // namespace

std::size_t read_link_of(int descriptor, PathBuffer& path) noexcept {
  char link[32] = "/proc/self/fd/";
  char* at = link + std::strlen(link);
  char digits[12];
  int count = 0;
  for (int rest = descriptor; count == 0 || rest > 0; rest /= 10)
    digits[count++] = static_cast<char>('0' + rest % 10);
  while (count > 0)
    *at++ = digits[--count];
  *at = 0;
  const ssize_t length =
      ::readlink(descriptor == AT_FDCWD ? "/proc/self/cwd" : link, path.data(), path.size());
  return length > 0 ? static_cast<std::size_t>(length) : 0;
}

RunMemory* map_memory(const char* path) noexcept {
  if (is_address_space_limited() || !is_memory_link(path)) return nullptr;
  const int descriptor = open_file(path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (descriptor < 0) return nullptr;
  void* mapped = MAP_FAILED;
  if (is_sealed(descriptor))
    mapped =
        ::mmap(nullptr, trace::kRunHeadBytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  close_file(descriptor);
  if (mapped == MAP_FAILED) return nullptr;
  auto* const shared = static_cast<RunMemory*>(mapped);
  if (shared->magic == RunMemory::kMagic && shared->version == RunMemory::kVersion) {
    ::madvise(mapped, trace::kRunHeadBytes, MADV_DONTDUMP);
    return shared;
  }
  ::munmap(mapped, trace::kRunHeadBytes);
  return nullptr;
}

/// mremap() of no bytes of a shared mapping makes another one of the same file, from there on. Its
/// part in front of the ring is removed again. A locked page would lock and load all of it.
RunRing* map_ring(RunMemory& shared, std::uint32_t number) noexcept {
  if (RunRing* const known = rings[number].load(std::memory_order_acquire)) return known;
  if (is_address_space_limited()) return nullptr;
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t from = (trace::kRunHeadBytes - 1) / page * page;
  const std::size_t skipped = trace::kRunHeadBytes + number * sizeof(RunRing) - from;
  char* const last_page = reinterpret_cast<char*>(&shared) + from;
  ::munlock(last_page, page);
  void* const copy = ::mremap(last_page, 0, skipped + sizeof(RunRing), MREMAP_MAYMOVE);
  if (copy == MAP_FAILED) return nullptr;
  ::munmap(copy, skipped / page * page);
  auto* const ring = reinterpret_cast<RunRing*>(static_cast<char*>(copy) + skipped);
  RunRing* other = nullptr;
  if (rings[number].compare_exchange_strong(other, ring)) return ring;
  ::munmap(static_cast<char*>(copy) + skipped / page * page, skipped % page + sizeof(RunRing));
  return other;
}

}  // namespace forebay::interpose
