// SPDX-License-Identifier: Apache-2.0
// Numbers from bytes and back in a stated byte order, without alignment. Templates on the order, so
// that the choice is made once for a block of records and not once for a number.
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

constexpr std::uint32_t swapped(std::uint32_t bits) { return __builtin_bswap32(bits); }
constexpr std::uint64_t swapped(std::uint64_t bits) { return __builtin_bswap64(bits); }

/// The number at `from`; T is a number of 4 or 8 bytes.
template <class T, ByteOrder order>
T load(const std::byte* from) {
  Bits<sizeof(T)> bits = 0;
  std::memcpy(&bits, from, sizeof bits);
  return std::bit_cast<T>(order == ByteOrder::kStandard ? swapped(bits) : bits);
}

/// Writes sizeof(T) bytes at `to`.
template <class T, ByteOrder order>
void store(T value, std::byte* to) {
  auto bits = std::bit_cast<Bits<sizeof(T)>>(value);
  if constexpr (order == ByteOrder::kStandard) bits = swapped(bits);
  std::memcpy(to, &bits, sizeof bits);
}

}  // namespace forebay::tipsy
