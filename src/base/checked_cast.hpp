// SPDX-License-Identifier: Apache-2.0
// checked_cast(): the only conversion between integer types. A value that does not fit aborts the
// program at that place, instead of becoming a wrong byte count elsewhere.
#pragma once

#include <concepts>
#include <utility>

#include "base/assert.hpp"

namespace forebay {

/// Returns `value` as a `To`. It must fit: check external input before.
template <std::integral To, std::integral From>
constexpr To checked_cast(From value) noexcept {
  FOREBAY_ASSERT(std::in_range<To>(value));
  return static_cast<To>(value);
}

}  // namespace forebay
