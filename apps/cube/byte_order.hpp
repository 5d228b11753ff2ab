// SPDX-License-Identifier: Apache-2.0
// Numbers from bytes and back, without alignment: nothing in a .cubex file is aligned, and each
// metric may have been written by a machine of either byte order.
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
              "TODO(port): what is written, and order tests, take this machine for little-endian");

/// Byte order of the numbers of one metric.
enum class ByteOrder : std::uint8_t { kLittle, kBig };

/// The number at the beginning of `bytes`, which has at least sizeof(T) of them.
template <class T>
T load(std::span<const std::byte> bytes, ByteOrder order = ByteOrder::kLittle) {
  std::array<std::byte, sizeof(T)> copy;
  std::copy_n(bytes.begin(), sizeof(T), copy.begin());
  if (order == ByteOrder::kBig) std::ranges::reverse(copy);
  return std::bit_cast<T>(copy);
}

/// Writes sizeof(T) bytes at the beginning of `bytes`.
template <class T>
void store(T value, std::span<std::byte> bytes, ByteOrder order = ByteOrder::kLittle) {
  auto copy = std::bit_cast<std::array<std::byte, sizeof(T)>>(value);
  if (order == ByteOrder::kBig) std::ranges::reverse(copy);
  std::ranges::copy(copy, bytes.begin());
}

}  // namespace forebay::cube
