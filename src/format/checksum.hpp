// SPDX-License-Identifier: Apache-2.0
// Checksums of the dataset format: XXH3-64 with seeds that say where bytes belong, so that whole
// bytes of another dataset, step, field, part or piece never validate. All pure; any thread.
#pragma once

#include <memory>

#include "format/records.hpp"

namespace forebay::format {

/// Seeds are made one out of the other; each is a type of its own, so that none is left out.
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

/// The seed for XXH3_64bits_withSeed over a piece's raw bytes: for those that hash while copying.
std::uint64_t piece_seed(BlockSeed block, std::uint64_t piece) noexcept;

/// What a piece holds, and what lies in the file for it.
struct PieceBytes {
  std::span<const std::byte> raw;
  std::span<const std::byte> stored;  ///< a frame of a codec, where it is smaller than `raw`
};

/// The seed for the raw bytes of a piece, of which piece_seed() is that of the piece. A frame is
/// hashed into it: some of its bits change nothing of what comes out, and are damage all the same.
std::uint64_t seed_as_stored(std::uint64_t piece_seed, const PieceBytes& bytes) noexcept;

/// Of all raw bytes of a piece, which are stored as they are: at most kPieceBytes.
std::uint64_t piece_checksum(BlockSeed block,
                             std::uint64_t piece,
                             std::span<const std::byte> raw) noexcept;
/// The same, however it is stored.
std::uint64_t piece_checksum(BlockSeed block,
                             std::uint64_t piece,
                             const PieceBytes& bytes) noexcept;

/// Of a block whose pieces have these checksums, all of them in order.
std::uint64_t block_checksum(BlockSeed block, std::span<const std::uint64_t> pieces) noexcept;

/// Of metadata: `seed` is its magic or generation_seed().
std::uint64_t metadata_checksum(std::uint64_t seed, std::span<const std::byte> bytes) noexcept;
/// For tables (kTableMagic) and past blocks (kPastMagic).
std::uint64_t generation_seed(std::uint64_t magic,
                              const DatasetId& dataset,
                              std::uint64_t generation) noexcept;

/// What a block is known by.
struct BlockSums {
  std::uint64_t checksum = 0;
  std::vector<std::uint64_t> pieces = {};

  friend bool operator==(const BlockSums&, const BlockSums&) = default;
};

/// Of a block that lies in memory whole, and is stored as it is.
BlockSums block_sums(BlockSeed block, std::span<const std::byte> raw);

/// The same for raw bytes that come one after another, cut anyhow: pieces are told apart here.
/// One thread at a time.
class BlockHasher {
 public:
  explicit BlockHasher(BlockSeed block);
  ~BlockHasher();
  BlockHasher(BlockHasher&& other) noexcept;
  BlockHasher& operator=(BlockHasher&& other) noexcept;

  void update(std::span<const std::byte> raw);
  /// The raw bytes so far.
  std::uint64_t bytes() const noexcept { return bytes_; }
  /// Ends the block; afterwards the object takes nothing more.
  BlockSums finish();

 private:
  struct State;
  void end_piece();

  BlockSeed block_;
  std::unique_ptr<State> state_;
  std::uint64_t bytes_ = 0;
  BlockSums sums_;
};

}  // namespace forebay::format
