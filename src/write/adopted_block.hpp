// SPDX-License-Identifier: Apache-2.0
// AdoptedBlock: a buffer that the application has passed for writing, and its split into chunks.
// The agent splits it, not put(), because the work is proportional to the size.
#pragma once

#include <forebay/buffer.hpp>

#include <cstdint>
#include <memory>
#include <vector>

#include "format/checksum.hpp"
#include "write/packed_chunk.hpp"

namespace forebay::write {

struct AdoptedBlock {
  StepId step;
  std::uint32_t origin = 0;
  std::uint32_t region = 0;        ///< holds this block alone
  std::uint64_t offset_bytes = 0;  ///< of the block in the buffer, in whole pages
  std::uint64_t size_bytes = 0;
  std::uint64_t first_piece = 0;  ///< index in RankMetadata::piece_checksums
  /// Maximum size of a chunk, so that it fits a message. A multiple of the size of a piece.
  std::uint64_t chunk_bytes = 0;
  format::BlockSeed seed;
  std::shared_ptr<Buffer> buffer;  ///< has these bytes, rounded up to whole pages, or more
};

/// Splits the block into chunks, in order. Zeroes the rest of its last page. The chunks share
/// ownership of the buffer, so the last one that is released releases it.
std::vector<PackedChunk> split_into_chunks(const AdoptedBlock& block);

}  // namespace forebay::write
