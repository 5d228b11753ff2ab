// SPDX-License-Identifier: Apache-2.0
// zlib as this program needs it: rows of known size, and an anchor of unknown but bounded size.
#pragma once

#include <forebay/error.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace forebay::cube {

/// zlib's levels: the fastest, its own choice, the smallest.
inline constexpr int kPackingLevelMin = 1;
inline constexpr int kPackingLevelUsual = 6;
inline constexpr int kPackingLevelMax = 9;

/// Replaces `packed` by the zlib stream of `row`; its memory is kept between calls. Fails with
/// kLimit where there is no memory.
Status deflate_row(std::span<const std::byte> row, int level, std::vector<std::byte>& packed);

/// Fills all of `row` from one zlib stream. Fails with kDamage if the stream is broken or is one of
/// more or fewer bytes.
Status inflate_row(std::span<const std::byte> packed, std::span<std::byte> row);

/// The content of one gzip stream. Fails with kDamage, and kLimit above `limit_bytes`.
Result<std::string> inflate_gzip(std::span<const std::byte> packed, std::uint64_t limit_bytes);

}  // namespace forebay::cube
