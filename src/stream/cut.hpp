// SPDX-License-Identifier: Apache-2.0
// Which bytes of a buffer go how, when its file is written directly: whole blocks as they are, the
// parts of blocks at both ends by way of the edge table. Pure, so that it is tested by the
// thousand.
#pragma once

#include <forebay/range.hpp>

#include <algorithm>
#include <cstdint>

namespace forebay::stream {

/// Direct writing moves whole blocks of this size: the page, and the block of nearly all file
/// systems. Where smaller ones are allowed, the file system reads and rewrites the block itself,
/// one after the other.
inline constexpr std::uint64_t kBlockBytes = 4096;

constexpr std::uint64_t block_down(std::uint64_t offset) noexcept {
  return offset & ~(kBlockBytes - 1);
}

constexpr std::uint64_t block_up(std::uint64_t offset) noexcept {
  return block_down(offset + kBlockBytes - 1);
}

/// A range of a file in up to three parts, one after the other: a part of one block, whole blocks,
/// a part of one block. Any of them may be empty.
struct Cut {
  ByteRange head;
  ByteRange middle;
  ByteRange tail;
};

constexpr Cut cut_at_blocks(ByteRange range) noexcept {
  const std::uint64_t first = std::min(block_up(range.offset), range.end());
  const std::uint64_t last = std::max(block_down(range.end()), first);
  return {.head = {range.offset, first - range.offset},
          .middle = {first, last - first},
          .tail = {last, range.end() - last}};
}

/// How far, in bytes, memory that begins at `address` must move up in a buffer that begins at a
/// block's border, so that the address of each byte agrees with its offset; negative: down.
constexpr std::int64_t shift_to_agree(std::uint64_t address, std::uint64_t offset) noexcept {
  const auto misplaced = static_cast<std::int64_t>(address & (kBlockBytes - 1));
  return static_cast<std::int64_t>(offset & (kBlockBytes - 1)) - misplaced;
}

/// True if `address`, where the byte of `offset` lies, suits direct access with this alignment.
constexpr bool agrees(std::uint64_t address,
                      std::uint64_t offset,
                      std::uint64_t alignment_bytes) noexcept {
  return ((address ^ offset) & (alignment_bytes - 1)) == 0;
}

}  // namespace forebay::stream
