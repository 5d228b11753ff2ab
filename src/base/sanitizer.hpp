// SPDX-License-Identifier: Apache-2.0
// Whether a sanitizer watches this build. The thread sanitizer knows the threads that a program
// starts, not those of the system's libraries; both leave out mlock(). The few places that must
// mind it ask here.
#pragma once

namespace forebay {

#if defined(__SANITIZE_THREAD__)
inline constexpr bool kThreadSanitizer = true;
#elif defined(__has_feature)
inline constexpr bool kThreadSanitizer = __has_feature(thread_sanitizer);
#else
inline constexpr bool kThreadSanitizer = false;
#endif

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kAddressSanitizer = true;
#elif defined(__has_feature)
inline constexpr bool kAddressSanitizer = __has_feature(address_sanitizer);
#else
inline constexpr bool kAddressSanitizer = false;
#endif

}  // namespace forebay
