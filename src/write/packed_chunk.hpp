// SPDX-License-Identifier: Apache-2.0
// PackedChunk: bytes that the application's thread passes to its agent, ready to be sent, with the
// function that releases their memory.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "shm/memory_handle.hpp"
#include "write/messages.hpp"

namespace forebay::write {

/// A piece of a block whose checksum is still to be computed.
struct PieceToHash {
  std::uint64_t number = 0;  ///< index in RankMetadata::piece_checksums
  std::uint64_t seed = 0;
  std::span<const std::byte> bytes;
};

struct PackedChunk {
  Chunk chunk;
  std::span<const std::byte> bytes;  ///< the size is chunk.bytes
  shm::MemoryHandle memory;          ///< contains `bytes`; other processes can map it
  std::uint64_t memory_offset = 0;   ///< of `bytes` in `memory`
  std::vector<PieceToHash> to_hash;  ///< within `bytes`
  /// Releases the memory; called once, on any thread.
  std::function<void()> release;
};

}  // namespace forebay::write
