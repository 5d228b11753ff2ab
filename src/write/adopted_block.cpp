// SPDX-License-Identifier: Apache-2.0
#include "write/adopted_block.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "format/records.hpp"
#include "shm/buffer_allocator.hpp"

namespace forebay::write {

namespace {

using format::kPieceBytes;

/// The pieces of the block that lie in a chunk at that offset.
std::vector<PieceToHash> pieces_of_chunk(const AdoptedBlock& block,
                                         std::uint64_t offset,
                                         std::span<const std::byte> raw) {
  std::vector<PieceToHash> pieces;
  const std::uint64_t count = format::piece_count(raw.size());
  pieces.reserve(count);
  for (std::uint64_t piece = 0; piece < count; ++piece) {
    const std::uint64_t number = offset / kPieceBytes + piece;
    const std::uint64_t begin = piece * kPieceBytes;
    pieces.push_back({block.first_piece + number, format::piece_seed(block.seed, number),
                      raw.subspan(begin, std::min(kPieceBytes, raw.size() - begin))});
  }
  return pieces;
}

}  // namespace

std::vector<PackedChunk> split_into_chunks(const AdoptedBlock& block) {
  FOREBAY_ASSERT(block.chunk_bytes % kPieceBytes == 0);
  const std::uint64_t room = format::round_up(block.size_bytes, format::kPageBytes);
  const std::span<std::byte> memory(block.buffer->data() + block.offset_bytes, room);
  std::ranges::fill(memory.subspan(block.size_bytes), std::byte{});
  const shm::MemoryLocation location = shm::BufferAllocation::location_of(*block.buffer);
  std::vector<PackedChunk> chunks;
  for (std::uint64_t offset = 0; offset < room; offset += block.chunk_bytes) {
    const std::uint64_t bytes = std::min(block.chunk_bytes, room - offset);
    const auto raw = memory.subspan(offset, std::min(bytes, block.size_bytes - offset));
    chunks.push_back({.chunk = {.step = block.step,
                                .origin = block.origin,
                                .region = block.region,
                                .region_bytes = room,
                                .offset = offset,
                                .bytes = bytes,
                                .is_last = offset + bytes == room},
                      .bytes = memory.subspan(offset, bytes),
                      .memory = location.memory,
                      .memory_offset = location.offset_bytes + block.offset_bytes + offset,
                      .to_hash = pieces_of_chunk(block, offset, raw),
                      .release = [buffer = block.buffer] {}});
  }
  return chunks;
}

}  // namespace forebay::write
