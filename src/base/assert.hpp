// SPDX-License-Identifier: Apache-2.0
// FOREBAY_ASSERT: for bugs of our own, never for what the world does (that is an Error). It stays
// on in every build, so its condition should be cheap; it is the only thing in the library that
// prints or aborts.
#pragma once

namespace forebay {

/// Tells failed assertions which rank this process is, so that one line among a thousand ranks can
/// be placed. Any thread.
void set_assertion_rank(int rank) noexcept;

namespace detail {
[[noreturn]] void assertion_failed(const char* expression, const char* file, int line) noexcept;
}  // namespace detail

}  // namespace forebay

/// Stops the process with rank, file, line and expression if `condition` is false. Split `a && b`
/// into two assertions.
#define FOREBAY_ASSERT(condition) \
  (static_cast<bool>(condition)   \
       ? static_cast<void>(0)     \
       : ::forebay::detail::assertion_failed(#condition, __FILE__, __LINE__))
