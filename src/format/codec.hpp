// SPDX-License-Identifier: Apache-2.0
// Makes pieces smaller and as they were. A piece that would not get smaller is stored as it is,
// which its size tells.
#pragma once

#include "format/records.hpp"

namespace forebay::format {

inline constexpr int kZstdLevelDefault = 1;
inline constexpr int kZstdLevelMin = -7;
inline constexpr int kZstdLevelMax = 19;

/// Room that compress_piece() needs for any piece: kPieceBytes, since nothing ever grows.
inline constexpr std::uint64_t kStoredPieceBytesMax = kPieceBytes;

/// Stores `raw`, at most kPieceBytes, at the start of `into`, at least as long; tells how many
/// bytes it takes. kInvalidArgument for a level that there is not; kIo if the codec fails. Any
/// thread.
Result<std::uint64_t> compress_piece(Codec codec,
                                     int level,
                                     std::span<const std::byte> raw,
                                     std::span<std::byte> into);

/// Fills `raw` from what is stored: exactly, or kDamage. Any thread.
Status decompress_piece(Codec codec, std::span<const std::byte> stored, std::span<std::byte> raw);

}  // namespace forebay::format
