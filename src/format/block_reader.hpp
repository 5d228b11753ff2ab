// SPDX-License-Identifier: Apache-2.0
// Reads bytes of a block, as tools do: one call after another, verifying the pieces it touches.
// Reading by many ranks goes through sessions instead and shares the checks, not this file.
#pragma once

#include "format/catalog.hpp"

namespace forebay::format {

enum class Verify : std::uint8_t {
  kPieces,   ///< each piece that is touched is read whole and checked
  kNothing,  ///< bytes are taken as they are
};

/// One thread at a time; keeps memory for two pieces.
class BlockReader {
 public:
  explicit BlockReader(Verify verify = Verify::kPieces);

  /// Fills `into` with the raw bytes `range` of the block; kOutOfRange if the block has fewer.
  /// Blocks. Errors name path, offset, step, field, part and piece: kDamage, kShortFile, or that of
  /// the storage. What was filled before an Error is undefined.
  Status read(const StepCatalog& step,
              const BlockPlace& place,
              ByteRange range,
              std::span<std::byte> into);

  /// All raw bytes.
  Result<std::vector<std::byte>> read(const StepCatalog& step, const BlockPlace& place);

  /// One piece, whole: raw.size() is what the piece has.
  Status read_piece(const StepCatalog& step,
                    const BlockPlace& place,
                    std::uint64_t piece,
                    std::span<std::byte> raw);

 private:
  struct Source;
  Status load(const Source& source, std::uint64_t piece, std::span<std::byte> raw);

  Verify verify_;
  std::vector<std::byte> stored_;
  std::vector<std::byte> raw_;
};

/// The first piece that has a byte of `range`, which is not empty, and how many do.
struct PieceRange {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};
PieceRange pieces_of(ByteRange range) noexcept;

}  // namespace forebay::format
