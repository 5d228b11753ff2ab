// SPDX-License-Identifier: Apache-2.0
// FOREBAY_ASSERT: for bugs in Forebay, never for failures of the environment, which are Errors.
// Enabled in every build, so conditions should be cheap. Nothing else in the library prints or
// aborts.
#pragma once

#include <forebay/detail/export.hpp>

namespace forebay {

/// Sets the rank that failed assertions print, so that the line identifies one of a thousand ranks.
/// Any thread.
void set_assertion_rank(int rank) noexcept;

namespace detail {
[[noreturn]] FOREBAY_EXPORT void assertion_failed(const char* expression,
                                                  const char* file,
                                                  int line) noexcept;
}  // namespace detail

}  // namespace forebay

/// Prints rank, file, line and expression and aborts the process if `condition` is false. Split `a
/// && b` into two assertions.
#define FOREBAY_ASSERT(condition) \
  (static_cast<bool>(condition)   \
       ? static_cast<void>(0)     \
       : ::forebay::detail::assertion_failed(#condition, __FILE__, __LINE__))
