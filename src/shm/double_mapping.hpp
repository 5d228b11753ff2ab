// SPDX-License-Identifier: Apache-2.0
// The same memory twice in a row, so that a piece which wraps around its end is still contiguous.
// Made by the owner of a window and by its guests, each with addresses of its own.
#pragma once

#include <forebay/error.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "shm/memfd.hpp"

namespace forebay::shm {

/// What the processor maps by one entry of its second level; 0 where the kernel does not say.
std::uint64_t huge_page_bytes() noexcept;

/// Addresses with nothing behind them, `size_bytes` (> 0, whole pages) from a place where huge
/// pages fit; null and errno if there are none. The caller maps something there and unmaps it.
std::byte* reserve_addresses(std::uint64_t size_bytes) noexcept;

/// Makes the page table entries of mapped memory now instead of at the first touch; false where the
/// kernel does not know how, or cannot.
bool populate(std::byte* base, std::uint64_t size_bytes, Protection protection) noexcept;

/// Makes huge pages of mapped memory, whole ones of which each has a page; false where the kernel
/// does not know how, or cannot.
bool collapse(std::byte* base, std::uint64_t size_bytes) noexcept;

/// Byte i and byte i + size_bytes of base() are the same byte. Unmaps at its end.
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

  /// Maps the first `size_bytes` of `memfd` (a multiple of the page size, > 0), placed such that
  /// huge pages fit. Does not look whether the memory is there. Fails with kLimit or kPermission.
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
