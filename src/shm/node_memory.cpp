// SPDX-License-Identifier: Apache-2.0
// Huge pages are requested in one call for a whole range. Each call waits until all processors have
// drained their page lists, so one call for each huge page costs twenty times as much.
#include "shm/node_memory.hpp"

#include <cerrno>
#include <fstream>
#include <limits>
#include <optional>
#include <string>

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/assert.hpp"
#include "base/checked_cast.hpp"
#include "base/free_memory.hpp"
#include "shm/double_mapping.hpp"
#include "shm/memfd.hpp"

namespace forebay::shm {

namespace {

/// Smaller requests skip the check of the machine's available memory.
constexpr std::uint64_t kCheckBytesMin = 4U << 20U;

/// If a request exceeds the available memory, the kernel kills a process instead of failing the
/// call.
Status check_available(std::uint64_t requested_bytes) {
  if (requested_bytes < kCheckBytesMin) return {};
  const auto available = free_memory_bytes();
  if (!available || *available >= requested_bytes) return {};
  return failure({.kind = ErrorClass::kLimit,
                  .operation = "allocate memory",
                  .cause = std::to_string(requested_bytes) +
                           " bytes are requested, the machine has " + std::to_string(*available) +
                           " available"});
}

/// Allocates the whole huge pages in [first, last). The kernel needs one present page of each. On
/// failure the rest of the range gets small pages.
void populate_huge_pages(std::byte* base, std::uint64_t first, std::uint64_t last) {
  const std::uint64_t huge = huge_page_bytes();
  if (huge == 0) return;
  first = (first + huge - 1) / huge * huge;
  last = last / huge * huge;
  if (first >= last) return;
  for (std::uint64_t at = first; at < last; at += huge) {
    if (!populate(base + at, page_bytes(), Protection::kReadWrite)) return;
  }
  static_cast<void>(collapse(base + first, last - first));
}

std::string memlock_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) != 0) return "unknown";
  return limit.rlim_cur == RLIM_INFINITY ? "no limit" : std::to_string(limit.rlim_cur) + " bytes";
}

}  // namespace

NodeMemory::~NodeMemory() {
  if (base_ != nullptr) ::munmap(base_, size_bytes_);
}

void NodeMemory::swap(NodeMemory& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(handle_, other.handle_);
  std::swap(base_, other.base_);
  std::swap(size_bytes_, other.size_bytes_);
}

Result<NodeMemory> NodeMemory::create(const char* label, std::uint64_t size_bytes) {
  FOREBAY_ASSERT(size_bytes > 0);
  FOREBAY_ASSERT(size_bytes % kDirectAlignment == 0);
  const auto failed = [size_bytes](const char* operation) {
    return failure(system_error(
        {.operation = operation, .cause = "for " + std::to_string(size_bytes) + " bytes"}, errno));
  };
  auto memfd = create_memfd(label);
  if (!memfd) return failure(memfd.error());
  // Addresses first: an impossible size fails here.
  std::byte* const base = reserve_addresses(size_bytes);
  if (base == nullptr) return failed("reserve addresses for memory");
  NodeMemory memory;
  memory.base_ = base;
  memory.size_bytes_ = size_bytes;
  if (::ftruncate(memfd->get(), checked_cast<off_t>(size_bytes)) != 0)
    return failed("reserve memory");
  if (::mmap(base, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, memfd->get(), 0) ==
      MAP_FAILED) {
    return failed("map memory");
  }
  auto memory_handle = memory_handle_of(*memfd);
  if (!memory_handle) return failure(memory_handle.error());
  memory.handle_ = *memory_handle;
  memory.descriptor_ = std::move(*memfd);
  return memory;
}

Status NodeMemory::prefault(const ByteRange& range) {
  FOREBAY_ASSERT((ByteRange{0, size_bytes_}.contains(range)));
  if (range.empty()) return {};
  if (auto enough = check_available(range.size); !enough) return enough;
  populate_huge_pages(base_, range.offset, range.end());
  if (populate(base_ + range.offset, range.size, Protection::kReadWrite)) return {};
  // A kernel without this call maps at the first access; the memory is allocated now.
  return reserve_memory(descriptor_, range.offset, range.end());
}

Status NodeMemory::lock_memory() {
  if (::mlock(base_, size_bytes_) == 0) return {};
  const int error_number = errno;
  return failure({.kind = ErrorClass::kLimit,
                  .operation = "lock memory",
                  .error_number = error_number,
                  .cause = std::to_string(size_bytes_) +
                           " bytes exceed RLIMIT_MEMLOCK of this process (" + memlock_limit() +
                           "); raise it with ulimit -l, or use memory that is not locked"});
}

void NodeMemory::release_pages() noexcept {
  if (descriptor_) release_memory(descriptor_, 0, size_bytes_);
}

}  // namespace forebay::shm
