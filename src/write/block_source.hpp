// SPDX-License-Identifier: Apache-2.0
// BlockSource: the bytes of a block where the application has them, contiguous or as a MemoryLayout
// describes, and copies of them with checksums.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "format/box_copy.hpp"

namespace forebay::write {

/// Refers to the memory, which must outlive it.
class BlockSource {
 public:
  explicit BlockSource(std::span<const std::byte> packed)
      : memory_(packed), size_bytes_(packed.size()) {}
  /// `box` is the whole block, in `memory`.
  BlockSource(std::span<const std::byte> memory, const format::BoxCopy& box);

  std::uint64_t size_bytes() const noexcept { return size_bytes_; }
  bool is_contiguous() const noexcept { return !box_; }
  /// True if runs are so short that copy() is faster for many pieces at once.
  bool has_short_runs() const noexcept;
  /// The block in the memory of the application. Must be contiguous.
  std::span<const std::byte> bytes() const noexcept { return memory_; }

  /// Copies a range of the block to `to`, which has its size. Long runs bypass the caches.
  void copy(ByteRange range, std::span<std::byte> to) const;
  /// The same; returns the hash of the bytes.
  std::uint64_t hashed_copy(ByteRange range, std::span<std::byte> to, std::uint64_t seed) const;

 private:
  std::span<const std::byte> memory_;
  std::uint64_t size_bytes_;
  std::optional<format::BoxCopy> box_;  ///< absent: `memory_` is the block
};

}  // namespace forebay::write
