// SPDX-License-Identifier: Apache-2.0
// PackedChunk: what the application's thread passes to its agent: bytes that are ready to be sent,
// and the owner of their memory.
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
  std::uint64_t number = 0;  ///< in RankMetadata::piece_checksums
  std::uint64_t seed = 0;
  std::span<const std::byte> bytes;
};

struct PackedChunk {
  Chunk chunk;
  std::span<const std::byte> bytes;  ///< chunk.bytes of them
  shm::MemoryHandle memory;          ///< location of these, for other processes
  std::uint64_t memory_offset = 0;
  std::vector<PieceToHash> to_hash;  ///< within `bytes`
  /// Releases the memory; called once, on any thread.
  std::function<void()> release;
};

}  // namespace forebay::write
