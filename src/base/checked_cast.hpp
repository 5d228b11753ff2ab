// SPDX-License-Identifier: Apache-2.0
// The only way in which a number changes its integer type: a value that does not fit stops the
// program where it happened, instead of becoming a wrong byte count somewhere else.
#pragma once

#include <concepts>
#include <utility>

#include "base/assert.hpp"

namespace forebay {

/// `value` as a `To`. It must fit: check what comes from outside before.
template <std::integral To, std::integral From>
constexpr To checked_cast(From value) noexcept {
  FOREBAY_ASSERT(std::in_range<To>(value));
  return static_cast<To>(value);
}

}  // namespace forebay
