// SPDX-License-Identifier: Apache-2.0
// The member N.index: which rows of a metric there are, and the byte order of its numbers. Pure.
#pragma once

#include <forebay/error.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "cube/byte_order.hpp"

namespace forebay::cube {

inline constexpr std::string_view kIndexMark = "CUBEX.INDEX";
/// Mark, probe, version, format: what a dense index consists of.
inline constexpr std::uint64_t kIndexHeaderBytes = 18;

enum class IndexFormat : std::uint8_t { kSparse = 1, kDense = 3 };
std::string_view name_of(IndexFormat format) noexcept;

struct Index {
  IndexFormat format = IndexFormat::kSparse;
  ByteOrder order = ByteOrder::kLittle;
  std::vector<std::uint32_t> rows;  ///< numbers of the rows there are, rising; for a dense one all

  friend bool operator==(const Index&, const Index&) noexcept = default;
};

/// Bytes of an index of so many rows.
constexpr std::uint64_t index_bytes(IndexFormat format, std::uint64_t row_count) {
  return kIndexHeaderBytes + (format == IndexFormat::kSparse ? 4 + 4 * row_count : 0);
}

std::vector<std::byte> encode_index(const Index& index);

/// Reads an index of a metric that could have `row_limit` rows. Fails with kDamage as the page
/// says; offsets are from the beginning of `bytes`.
Result<Index> decode_index(std::span<const std::byte> bytes, std::uint32_t row_limit);

}  // namespace forebay::cube
