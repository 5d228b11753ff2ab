// SPDX-License-Identifier: Apache-2.0
// Huge pages are asked for in one call for a whole range: a call waits for all processors to let go
// of the pages they hold back, so that one for each huge page costs twenty times as much.
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

/// Less is not worth a look at what the machine has left.
constexpr std::uint64_t kLookBytesMin = 4U << 20U;

/// The kernel ends a process that takes more than there is, instead of refusing it.
Status check_available(std::uint64_t wanted_bytes) {
  if (wanted_bytes < kLookBytesMin) return {};
  const auto available = free_memory_bytes();
  if (!available || *available >= wanted_bytes) return {};
  return failure({.kind = ErrorClass::kLimit,
                  .operation = "take memory",
                  .cause = std::to_string(wanted_bytes) +
                           " bytes are wanted, and the machine has " + std::to_string(*available) +
                           " left"});
}

/// Whole huge pages in [first, last). One page of each has to be there, which then becomes all of
/// it. What fails here is made of small pages afterwards.
void take_huge_pages(std::byte* base, std::uint64_t first, std::uint64_t last) {
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

std::string locked_limit() {
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
  std::swap(name_, other.name_);
  std::swap(base_, other.base_);
  std::swap(size_bytes_, other.size_bytes_);
}

Result<NodeMemory> NodeMemory::create(const char* label, std::uint64_t size_bytes) {
  FOREBAY_ASSERT(size_bytes > 0);
  FOREBAY_ASSERT(size_bytes % kDirectBytes == 0);
  const auto failed = [size_bytes](const char* operation) {
    return failure(system_error(
        {.operation = operation, .cause = "for " + std::to_string(size_bytes) + " bytes"}, errno));
  };
  auto memfd = create_memfd(label);
  if (!memfd) return failure(memfd.error());
  // Addresses first: a size that nothing can hold fails here.
  std::byte* const base = reserve_addresses(size_bytes);
  if (base == nullptr) return failed("find addresses for memory");
  NodeMemory memory;
  memory.base_ = base;
  memory.size_bytes_ = size_bytes;
  if (::ftruncate(memfd->get(), checked_cast<off_t>(size_bytes)) != 0)
    return failed("reserve memory");
  if (::mmap(base, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, memfd->get(), 0) ==
      MAP_FAILED) {
    return failed("map memory");
  }
  auto name = name_of_memory(*memfd);
  if (!name) return failure(name.error());
  memory.name_ = *name;
  memory.descriptor_ = std::move(*memfd);
  return memory;
}

Status NodeMemory::prefault(const ByteRange& range) {
  FOREBAY_ASSERT((ByteRange{0, size_bytes_}.contains(range)));
  if (range.empty()) return {};
  if (auto enough = check_available(range.size); !enough) return enough;
  take_huge_pages(base_, range.offset, range.end());
  if (populate(base_ + range.offset, range.size, Protection::kReadWrite)) return {};
  // A kernel that does not know how leaves the mapping to the first touch; the memory is taken.
  return take_memory(descriptor_, range.offset, range.end());
}

Status NodeMemory::pin() {
  if (::mlock(base_, size_bytes_) == 0) return {};
  const int error_number = errno;
  return failure({.kind = ErrorClass::kLimit,
                  .operation = "pin memory",
                  .error_number = error_number,
                  .cause = std::to_string(size_bytes_) +
                           " bytes are more than RLIMIT_MEMLOCK allows this process (" +
                           locked_limit() +
                           "); raise it with ulimit -l, or use MemoryKind::kHost"});
}

void NodeMemory::give_back() noexcept {
  if (descriptor_) give_back_memory(descriptor_, 0, size_bytes_);
}

}  // namespace forebay::shm
