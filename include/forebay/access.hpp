// SPDX-License-Identifier: Apache-2.0
// Access: through the page cache or past it. One word for plans, for the rule that chooses and for
// open files, so that nothing is translated between them.
#pragma once

#include <cstdint>
#include <string_view>

namespace forebay {

/// How bytes travel from storage to memory.
enum class Access : std::uint8_t {
  kBuffered,  ///< through the kernel's page cache
  kDirect,    ///< past it (O_DIRECT): for aligned transfers only, which sessions see to
};

/// "buffered" or "direct", as printed and as written to JSON.
constexpr std::string_view name_of(Access access) noexcept {
  return access == Access::kDirect ? "direct" : "buffered";
}

}  // namespace forebay
