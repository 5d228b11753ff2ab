// SPDX-License-Identifier: Apache-2.0
#include "format/codec.hpp"

#include <cstring>

#include <zstd.h>

#include "base/assert.hpp"

namespace forebay::format {
namespace {

tl::unexpected<Error> damage_error(const std::string& cause) {
  return failure({.kind = ErrorClass::kDamage, .operation = "decompress a piece", .cause = cause});
}

Result<std::uint64_t> compress_zstd(int level,
                                    std::span<const std::byte> raw,
                                    std::span<std::byte> into) {
  if (level < kZstdLevelMin || level > kZstdLevelMax)
    return failure({.kind = ErrorClass::kInvalidArgument,
                    .operation = "compress a piece",
                    .cause = "level " + std::to_string(level) + " is not from " +
                             std::to_string(kZstdLevelMin) + " to " +
                             std::to_string(kZstdLevelMax)});
  // A frame that would not be smaller does not fit: then the piece is stored unchanged.
  const std::size_t room = raw.empty() ? 0 : raw.size() - 1;
  const std::size_t bytes = ZSTD_compress(into.data(), room, raw.data(), raw.size(), level);
  if (ZSTD_isError(bytes) == 0) return bytes;
  std::memcpy(into.data(), raw.data(), raw.size());
  return raw.size();
}

}  // namespace

Result<std::uint64_t> compress_piece(Codec codec,
                                     int level,
                                     std::span<const std::byte> raw,
                                     std::span<std::byte> into) {
  FOREBAY_ASSERT(raw.size() <= kPieceBytes);
  FOREBAY_ASSERT(into.size() >= raw.size());
  if (raw.empty()) return 0;
  if (codec == Codec::kZstd) return compress_zstd(level, raw, into);
  std::memcpy(into.data(), raw.data(), raw.size());
  return raw.size();
}

Status decompress_piece(Codec codec, std::span<const std::byte> stored, std::span<std::byte> raw) {
  if (codec == Codec::kNone || stored.size() == raw.size()) {
    if (stored.size() != raw.size())
      return damage_error(std::to_string(stored.size()) + " bytes are stored instead of " +
                          std::to_string(raw.size()));
    if (!raw.empty()) std::memcpy(raw.data(), stored.data(), raw.size());
    return {};
  }
  const std::size_t bytes = ZSTD_decompress(raw.data(), raw.size(), stored.data(), stored.size());
  if (ZSTD_isError(bytes) != 0)
    return damage_error(std::string("it is not a complete frame: ") + ZSTD_getErrorName(bytes));
  if (bytes != raw.size())
    return damage_error("it has " + std::to_string(bytes) + " bytes instead of " +
                        std::to_string(raw.size()));
  return {};
}

}  // namespace forebay::format
