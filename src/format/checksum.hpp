// SPDX-License-Identifier: Apache-2.0
// Checksums of the dataset format: XXH3-64 with seeds that identify the place of the bytes. So
// bytes of another dataset, step, field, part or piece never validate. All pure; any thread.
#pragma once

#include <memory>

#include "format/records.hpp"

namespace forebay::format {

/// Each seed is computed from the preceding one. Each has its own type, so that none is omitted.
enum class StepSeed : std::uint64_t {};
enum class FieldSeed : std::uint64_t {};
enum class BlockSeed : std::uint64_t {};

StepSeed step_seed(const DatasetId& dataset, std::uint64_t step) noexcept;
FieldSeed field_seed(StepSeed step, std::string_view name) noexcept;
BlockSeed part_seed(FieldSeed field, std::uint64_t part) noexcept;
/// `start` and `count` have the same length, at most kDimensionsMax.
BlockSeed array_seed(FieldSeed field,
                     std::span<const std::uint64_t> start,
                     std::span<const std::uint64_t> count) noexcept;

/// The seed for XXH3_64bits_withSeed over a piece's raw bytes, for callers that hash while copying.
std::uint64_t piece_seed(BlockSeed block, std::uint64_t piece) noexcept;

/// Raw and stored bytes of a piece.
struct PieceBytes {
  std::span<const std::byte> raw;
  std::span<const std::byte> stored;  ///< compressed if shorter than `raw`
};

/// The seed for the raw bytes of a piece, from its piece_seed(). Compressed bytes are hashed into
/// it: some of their bits do not affect the decompressed bytes, but a change of them is damage.
std::uint64_t stored_piece_seed(std::uint64_t piece_seed, const PieceBytes& bytes) noexcept;

/// Checksum of all raw bytes of a piece that is stored uncompressed: at most kPieceBytes.
std::uint64_t piece_checksum(BlockSeed block,
                             std::uint64_t piece,
                             std::span<const std::byte> raw) noexcept;
/// The same for a piece stored in any way.
std::uint64_t piece_checksum(BlockSeed block,
                             std::uint64_t piece,
                             const PieceBytes& bytes) noexcept;

/// Checksum of a block whose pieces have these checksums, all of them in order.
std::uint64_t block_checksum(BlockSeed block, std::span<const std::uint64_t> pieces) noexcept;

/// Checksum of metadata: `seed` is its magic or generation_seed().
std::uint64_t metadata_checksum(std::uint64_t seed, std::span<const std::byte> bytes) noexcept;
/// Seed for tables (kTableMagic) and history tables (kHistoryMagic).
std::uint64_t generation_seed(std::uint64_t magic,
                              const DatasetId& dataset,
                              std::uint64_t generation) noexcept;

/// Checksums of a block and of its pieces.
struct BlockChecksums {
  std::uint64_t checksum = 0;
  std::vector<std::uint64_t> pieces = {};

  friend bool operator==(const BlockChecksums&, const BlockChecksums&) = default;
};

/// For a block that is in memory completely, and is stored uncompressed.
BlockChecksums compute_block_checksums(BlockSeed block, std::span<const std::byte> raw);

/// The same for raw bytes that are supplied in any portions; it finds the pieces. One thread at a
/// time.
class BlockHasher {
 public:
  explicit BlockHasher(BlockSeed block);
  ~BlockHasher();
  BlockHasher(BlockHasher&& other) noexcept;
  BlockHasher& operator=(BlockHasher&& other) noexcept;

  void update(std::span<const std::byte> raw);
  /// The raw bytes so far.
  std::uint64_t bytes() const noexcept { return bytes_; }
  /// Ends the block; the object accepts no more bytes.
  BlockChecksums finish();

 private:
  struct State;
  void end_piece();

  BlockSeed block_;
  std::unique_ptr<State> state_;
  std::uint64_t bytes_ = 0;
  BlockChecksums checksums_;
};

}  // namespace forebay::format
