// SPDX-License-Identifier: Apache-2.0
// The magic strings at the beginning of a profile's members.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>

namespace forebay::cube {

inline bool has_magic(std::string_view magic, std::span<const std::byte> bytes) {
  return bytes.size() >= magic.size() &&
         std::ranges::equal(magic, bytes.first(magic.size()), [](char c, std::byte byte) {
           return static_cast<std::byte>(c) == byte;
         });
}

/// `bytes` must have room for `magic`.
inline void write_magic(std::string_view magic, std::span<std::byte> bytes) {
  std::ranges::transform(magic, bytes.begin(), [](char c) { return static_cast<std::byte>(c); });
}

}  // namespace forebay::cube
