// SPDX-License-Identifier: Apache-2.0
// Reads and writes numbers in a given byte order, without alignment. The order is a template
// parameter, so that it is selected once for a block of records, not for each number.
#pragma once

#include <bit>
#include <cstddef>
#include <cstring>
#include <type_traits>

#include "tipsy/layout.hpp"

namespace forebay::tipsy {

static_assert(std::endian::native == std::endian::little,
              "TODO(port): 'native' means little-endian in this code");

template <std::size_t size_bytes>
using Bits = std::conditional_t<size_bytes == 8, std::uint64_t, std::uint32_t>;

constexpr std::uint32_t byteswap(std::uint32_t bits) { return __builtin_bswap32(bits); }
constexpr std::uint64_t byteswap(std::uint64_t bits) { return __builtin_bswap64(bits); }

/// The number at `from`; T is a number of 4 or 8 bytes.
template <class T, ByteOrder order>
T load(const std::byte* from) {
  Bits<sizeof(T)> bits = 0;
  std::memcpy(&bits, from, sizeof bits);
  return std::bit_cast<T>(order == ByteOrder::kStandard ? byteswap(bits) : bits);
}

/// Writes sizeof(T) bytes at `to`.
template <class T, ByteOrder order>
void store(T value, std::byte* to) {
  auto bits = std::bit_cast<Bits<sizeof(T)>>(value);
  if constexpr (order == ByteOrder::kStandard) bits = byteswap(bits);
  std::memcpy(to, &bits, sizeof bits);
}

}  // namespace forebay::tipsy
