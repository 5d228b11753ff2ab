// SPDX-License-Identifier: Apache-2.0
// BlockSplit: how the bytes of a buffer are written directly: whole blocks as they are, the parts
// of blocks at both ends by way of the PartialBlockCache. Pure, so that thousands of cases are
// tested.
#pragma once

#include <forebay/range.hpp>

#include <algorithm>
#include <cstdint>

namespace forebay::stream {

/// Direct writing moves whole blocks of this size: the page, and the block of nearly all file
/// systems. If a file system accepts smaller ones, it reads and rewrites the block, one after the
/// other.
inline constexpr std::uint64_t kBlockBytes = 4096;

constexpr std::uint64_t align_down_to_block(std::uint64_t offset) noexcept {
  return offset & ~(kBlockBytes - 1);
}

constexpr std::uint64_t align_up_to_block(std::uint64_t offset) noexcept {
  return align_down_to_block(offset + kBlockBytes - 1);
}

/// A range of a file in up to three parts, one after the other: a part of one block, whole blocks,
/// a part of one block. Any of them may be empty.
struct BlockSplit {
  ByteRange head;
  ByteRange middle;
  ByteRange tail;
};

constexpr BlockSplit split_at_blocks(ByteRange range) noexcept {
  const std::uint64_t first = std::min(align_up_to_block(range.offset), range.end());
  const std::uint64_t last = std::max(align_down_to_block(range.end()), first);
  return {.head = {range.offset, first - range.offset},
          .middle = {first, last - first},
          .tail = {last, range.end() - last}};
}

/// The shift, in bytes, that makes the address of each byte congruent to its offset. The memory at
/// `address` is in a buffer that begins at a block boundary. Positive: up; negative: down.
constexpr std::int64_t alignment_shift(std::uint64_t address, std::uint64_t offset) noexcept {
  const auto misplaced = static_cast<std::int64_t>(address & (kBlockBytes - 1));
  return static_cast<std::int64_t>(offset & (kBlockBytes - 1)) - misplaced;
}

/// True if `address`, of the byte at `offset`, suits direct access with this alignment.
constexpr bool is_congruent(std::uint64_t address,
                            std::uint64_t offset,
                            std::uint64_t alignment_bytes) noexcept {
  return ((address ^ offset) & (alignment_bytes - 1)) == 0;
}

}  // namespace forebay::stream
