// SPDX-License-Identifier: Apache-2.0
// Whether the thread sanitizer watches this build. It knows the threads that a program starts, not
// those of the system's libraries; the few places that must mind it ask here.
#pragma once

namespace forebay {

#if defined(__SANITIZE_THREAD__)
inline constexpr bool kThreadSanitizer = true;
#elif defined(__has_feature)
inline constexpr bool kThreadSanitizer = __has_feature(thread_sanitizer);
#else
inline constexpr bool kThreadSanitizer = false;
#endif

}  // namespace forebay
