// SPDX-License-Identifier: Apache-2.0
// DoubleMapping: the same memory mapped twice in a row, so that a range that wraps around its end
// is still contiguous. The owner of a window and each process that views it have one for each
// size of the window that they use, at different addresses.
#pragma once

#include <forebay/error.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "shm/memfd.hpp"

namespace forebay::shm {

/// Size of a huge page (one PMD entry); 0 if the kernel does not report it.
std::uint64_t huge_page_bytes() noexcept;

/// Reserves `size_bytes` (> 0, whole pages) of address space without memory, aligned for huge
/// pages. Returns null and sets errno on failure. The caller maps memory there and unmaps it.
std::byte* reserve_addresses(std::uint64_t size_bytes) noexcept;

/// Creates the page table entries of mapped memory now instead of at the first access. Returns
/// false if the kernel does not support that or fails.
bool populate(std::byte* base, std::uint64_t size_bytes, Protection protection) noexcept;

/// Converts mapped memory to huge pages (MADV_COLLAPSE). The range consists of whole huge pages,
/// and one page of each is present. Returns false if the kernel does not support that or fails.
bool collapse(std::byte* base, std::uint64_t size_bytes) noexcept;

/// Byte i and byte i + size_bytes of base() are the same byte. The destructor unmaps it.
class DoubleMapping {
 public:
  DoubleMapping() noexcept = default;
  DoubleMapping(DoubleMapping&& other) noexcept
      : base_(std::exchange(other.base_, nullptr)), size_bytes_(other.size_bytes_) {}
  DoubleMapping& operator=(DoubleMapping&& other) noexcept {
    DoubleMapping taken(std::move(other));
    std::swap(base_, taken.base_);
    std::swap(size_bytes_, taken.size_bytes_);
    return *this;
  }
  ~DoubleMapping();

  /// Maps the first `size_bytes` of `memfd` (a multiple of the page size, > 0), aligned for huge
  /// pages. Does not check the size of the memory. Fails with kLimit or kPermission.
  static Result<DoubleMapping> make(const Descriptor& memfd,
                                    std::uint64_t size_bytes,
                                    Protection protection);

  std::byte* base() const noexcept { return base_; }
  std::uint64_t size_bytes() const noexcept { return size_bytes_; }

 private:
  DoubleMapping(std::byte* base, std::uint64_t size_bytes) noexcept
      : base_(base), size_bytes_(size_bytes) {}

  std::byte* base_ = nullptr;
  std::uint64_t size_bytes_ = 0;
};

/// The mapping of that size, or null.
const DoubleMapping* find_mapping(const std::vector<DoubleMapping>& mappings,
                                  std::uint64_t size_bytes) noexcept;

}  // namespace forebay::shm
