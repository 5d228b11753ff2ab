// SPDX-License-Identifier: Apache-2.0
// The words that members of a profile begin with.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>

namespace forebay::cube {

inline bool has_mark(std::string_view mark, std::span<const std::byte> bytes) {
  return bytes.size() >= mark.size() &&
         std::ranges::equal(mark, bytes.first(mark.size()), [](char c, std::byte byte) {
           return static_cast<std::byte>(c) == byte;
         });
}

/// `bytes` has room for it.
inline void put_mark(std::string_view mark, std::span<std::byte> bytes) {
  std::ranges::transform(mark, bytes.begin(), [](char c) { return static_cast<std::byte>(c); });
}

}  // namespace forebay::cube
