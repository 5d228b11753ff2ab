// SPDX-License-Identifier: Apache-2.0
// A block in memory that the application has given away. Nothing of it is looked at while the
// application waits: its agent cuts it into chunks, which is work for each MiB.
#pragma once

#include <forebay/buffer.hpp>

#include <cstdint>
#include <memory>
#include <vector>

#include "format/checksum.hpp"
#include "write/packed_chunk.hpp"

namespace forebay::write {

struct AdoptedBlock {
  StepName step;
  std::uint32_t origin = 0;
  std::uint32_t region = 0;  ///< of its own
  std::uint64_t size_bytes = 0;
  std::uint64_t first_piece = 0;  ///< in RankStep::piece_checksums
  std::uint64_t chunk_bytes = 0;  ///< at most in a chunk, as fits a message; whole pieces
  format::BlockSeed seed;
  std::shared_ptr<Buffer> buffer;  ///< at least `size_bytes`, and whole pages
};

/// In order; what is behind the block in its last page becomes zero. The buffer is let go of with
/// the last chunk.
std::vector<PackedChunk> chunks_of(const AdoptedBlock& block);

}  // namespace forebay::write
