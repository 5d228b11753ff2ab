// SPDX-License-Identifier: Apache-2.0
// Compresses and decompresses pieces. A piece that compression would not shrink is stored
// unchanged; its stored size shows this.
#pragma once

#include "format/records.hpp"

namespace forebay::format {

inline constexpr int kZstdLevelDefault = 1;
inline constexpr int kZstdLevelMin = -7;
inline constexpr int kZstdLevelMax = 19;

/// Output size that compress_piece() needs for any piece: kPieceBytes, because stored pieces never
/// grow.
inline constexpr std::uint64_t kStoredPieceBytesMax = kPieceBytes;

/// Compresses `raw`, at most kPieceBytes, to the start of `into`, which is at least as long.
/// Returns the number of stored bytes. kInvalidArgument for an invalid level; kIo if the codec
/// fails. Any thread.
Result<std::uint64_t> compress_piece(Codec codec,
                                     int level,
                                     std::span<const std::byte> raw,
                                     std::span<std::byte> into);

/// Fills `raw` exactly from the stored bytes, or fails with kDamage. Any thread.
Status decompress_piece(Codec codec, std::span<const std::byte> stored, std::span<std::byte> raw);

}  // namespace forebay::format
