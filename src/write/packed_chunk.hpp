// SPDX-License-Identifier: Apache-2.0
// What the application's thread hands to its agent: bytes that are ready to travel, and what keeps
// their memory.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "shm/memory_name.hpp"
#include "write/letters.hpp"

namespace forebay::write {

/// A piece of a block whose checksum is still to be worked out.
struct PieceToHash {
  std::uint64_t number = 0;  ///< in RankStep::piece_checksums
  std::uint64_t seed = 0;
  std::span<const std::byte> bytes;
};

struct PackedChunk {
  Chunk chunk;
  std::span<const std::byte> bytes;  ///< chunk.bytes of them
  shm::MemoryName memory;            ///< where that is, for other processes
  std::uint64_t memory_offset = 0;
  std::vector<PieceToHash> to_hash;  ///< within `bytes`
  /// Gives the memory back; called once, on any thread.
  std::function<void()> release;
};

}  // namespace forebay::write
