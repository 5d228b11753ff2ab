// SPDX-License-Identifier: Apache-2.0
// zlib for rows of known size, and for an anchor of unknown but bounded size.
#pragma once

#include <forebay/error.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace forebay::cube {

/// Levels of zlib: the fastest, its default, the smallest output.
inline constexpr int kCompressionLevelMin = 1;
inline constexpr int kCompressionLevelDefault = 6;
inline constexpr int kCompressionLevelMax = 9;

/// Replaces `compressed` by the zlib stream of `row`; its capacity is reused. Fails with kLimit if
/// there is no memory.
Status deflate_row(std::span<const std::byte> row, int level, std::vector<std::byte>& compressed);

/// Fills `row` from one zlib stream. Fails with kDamage if the stream is broken or holds more or
/// fewer bytes.
Status inflate_row(std::span<const std::byte> compressed, std::span<std::byte> row);

/// Returns the content of one gzip stream. Fails with kDamage, and with kLimit above `limit_bytes`.
Result<std::string> inflate_gzip(std::span<const std::byte> compressed, std::uint64_t limit_bytes);

}  // namespace forebay::cube
