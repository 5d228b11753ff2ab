// SPDX-License-Identifier: Apache-2.0
// Access: buffered or direct I/O. Plans, the rule that chooses, and open files share this type.
#pragma once

#include <cstdint>
#include <string_view>

namespace forebay {

/// The path of bytes between storage and memory.
enum class Access : std::uint8_t {
  kBuffered,  ///< through the kernel's page cache
  kDirect,    ///< past it (O_DIRECT): for aligned transfers only, which sessions ensure
};

/// "buffered" or "direct", as printed and as written to JSON.
constexpr std::string_view name_of(Access access) noexcept {
  return access == Access::kDirect ? "direct" : "buffered";
}

}  // namespace forebay
