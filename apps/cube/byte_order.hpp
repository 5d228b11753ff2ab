// SPDX-License-Identifier: Apache-2.0
// Reads and writes numbers in byte spans, without alignment. Nothing in a .cubex file is aligned,
// and each metric may have either byte order.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace forebay::cube {

static_assert(std::endian::native == std::endian::little,
              "TODO(port): writing and byte order tests require a little-endian machine");

/// The byte order of the numbers of one metric.
enum class ByteOrder : std::uint8_t { kLittle, kBig };

/// Reads the number at the beginning of `bytes`, which has sizeof(T) bytes or more.
template <class T>
T load(std::span<const std::byte> bytes, ByteOrder order = ByteOrder::kLittle) {
  std::array<std::byte, sizeof(T)> copy;
  std::copy_n(bytes.begin(), sizeof(T), copy.begin());
  if (order == ByteOrder::kBig) std::ranges::reverse(copy);
  return std::bit_cast<T>(copy);
}

/// Writes `value` to the first sizeof(T) bytes of `bytes`.
template <class T>
void store(T value, std::span<std::byte> bytes, ByteOrder order = ByteOrder::kLittle) {
  auto copy = std::bit_cast<std::array<std::byte, sizeof(T)>>(value);
  if (order == ByteOrder::kBig) std::ranges::reverse(copy);
  std::ranges::copy(copy, bytes.begin());
}

}  // namespace forebay::cube
