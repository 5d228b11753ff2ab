// SPDX-License-Identifier: Apache-2.0
#include "shm/double_mapping.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <fstream>
#include <string>

#include <sys/mman.h>

#include "base/assert.hpp"

namespace forebay::shm {

namespace {

// Linux 5.14; not in the headers of older C libraries.
#ifdef MADV_POPULATE_WRITE
constexpr int kPopulateRead = MADV_POPULATE_READ;
constexpr int kPopulateWrite = MADV_POPULATE_WRITE;
#else
constexpr int kPopulateRead = 22;
constexpr int kPopulateWrite = 23;
#endif

// Linux 6.1.
#ifdef MADV_COLLAPSE
constexpr int kCollapse = MADV_COLLAPSE;
#else
constexpr int kCollapse = 25;
#endif

std::byte* align_up(std::byte* address, std::uint64_t alignment_bytes) {
  const auto over = reinterpret_cast<std::uintptr_t>(address) % alignment_bytes;
  return over == 0 ? address : address + (alignment_bytes - over);
}

tl::unexpected<Error> mapping_error(int error_number, std::uint64_t size_bytes) {
  return failure(system_error({.operation = "map shared memory",
                               .cause = "for a window of " + std::to_string(size_bytes) + " bytes"},
                              error_number));
}

}  // namespace

std::uint64_t huge_page_bytes() noexcept {
  static const std::uint64_t size = [] {
    std::uint64_t bytes = 0;
    std::ifstream("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size") >> bytes;
    return std::has_single_bit(bytes) ? bytes : 0;
  }();
  return size;
}

std::byte* reserve_addresses(std::uint64_t size_bytes) noexcept {
  const std::uint64_t alignment = std::max(huge_page_bytes(), page_bytes());
  const std::uint64_t reserved_bytes = size_bytes + alignment;
  if (reserved_bytes < size_bytes) {
    errno = ENOMEM;
    return nullptr;
  }
  void* const place =
      ::mmap(nullptr, reserved_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (place == MAP_FAILED) return nullptr;
  auto* const first = static_cast<std::byte*>(place);
  std::byte* const base = align_up(first, alignment);
  const auto before = static_cast<std::uint64_t>(base - first);
  if (before != 0) ::munmap(first, before);
  ::munmap(base + size_bytes, alignment - before);
  return base;
}

bool populate(std::byte* base, std::uint64_t size_bytes, Protection protection) noexcept {
  const int advice = protection == Protection::kReadOnly ? kPopulateRead : kPopulateWrite;
  return ::madvise(base, size_bytes, advice) == 0;
}

bool collapse(std::byte* base, std::uint64_t size_bytes) noexcept {
  return ::madvise(base, size_bytes, kCollapse) == 0;
}

DoubleMapping::~DoubleMapping() {
  if (base_ != nullptr) ::munmap(base_, 2 * size_bytes_);
}

Result<DoubleMapping> DoubleMapping::make(const Descriptor& memfd,
                                          std::uint64_t size_bytes,
                                          Protection protection) {
  FOREBAY_ASSERT(size_bytes > 0);
  FOREBAY_ASSERT(size_bytes % page_bytes() == 0);
  if (2 * size_bytes / 2 != size_bytes) return mapping_error(ENOMEM, size_bytes);
  std::byte* const base = reserve_addresses(2 * size_bytes);
  if (base == nullptr) return mapping_error(errno, size_bytes);
  DoubleMapping mapping(base, size_bytes);
  for (std::byte* half : {base, base + size_bytes}) {
    const void* const mapped = ::mmap(half, size_bytes, mmap_protection(protection),
                                      MAP_SHARED | MAP_FIXED, memfd.get(), 0);
    if (mapped == MAP_FAILED) return mapping_error(errno, size_bytes);
  }
  return mapping;
}

const DoubleMapping* find_mapping(const std::vector<DoubleMapping>& mappings,
                                  std::uint64_t size_bytes) noexcept {
  const auto found = std::find_if(
      mappings.begin(), mappings.end(),
      [size_bytes](const DoubleMapping& mapping) { return mapping.size_bytes() == size_bytes; });
  return found == mappings.end() ? nullptr : &*found;
}

}  // namespace forebay::shm
