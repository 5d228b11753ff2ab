// SPDX-License-Identifier: Apache-2.0
// Which sanitizers are enabled in this build. The thread sanitizer tracks threads of the program,
// not those of system libraries; both sanitizers omit mlock(). The few places that depend on this
// test these constants.
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
