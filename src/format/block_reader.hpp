// SPDX-License-Identifier: Apache-2.0
// BlockReader: reads bytes of a block for tools, one call after another, and verifies the touched
// pieces. Ranks read through sessions instead, which share only the checks.
#pragma once

#include "format/catalog.hpp"

namespace forebay::format {

enum class VerifyMode : std::uint8_t {
  kPieces,  ///< each touched piece is read completely and checked
  kNone,    ///< bytes are not checked
};

/// One thread at a time; keeps memory for two pieces.
class BlockReader {
 public:
  explicit BlockReader(VerifyMode verify = VerifyMode::kPieces);

  /// Fills `into` with the raw bytes `range` of the block; kOutOfRange if the block has fewer.
  /// Blocks. Errors name path, offset, step, field, part and piece: kDamage, kShortFile, or that of
  /// the storage. After an Error the content of `into` is undefined.
  Status read(const StepCatalog& step,
              const BlockLocation& location,
              ByteRange range,
              std::span<std::byte> into);

  /// All raw bytes.
  Result<std::vector<std::byte>> read(const StepCatalog& step, const BlockLocation& location);

  /// One whole piece: raw.size() must be the size of the piece.
  Status read_piece(const StepCatalog& step,
                    const BlockLocation& location,
                    std::uint64_t piece,
                    std::span<std::byte> raw);

 private:
  struct OpenBlock;
  Status load_piece(const OpenBlock& open_block, std::uint64_t piece, std::span<std::byte> raw);

  VerifyMode verify_;
  std::vector<std::byte> stored_;
  std::vector<std::byte> raw_;
};

/// The first piece with a byte of `range`, which is not empty, and the number of such pieces.
struct PieceRange {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};
PieceRange piece_range_of(ByteRange range) noexcept;

}  // namespace forebay::format
