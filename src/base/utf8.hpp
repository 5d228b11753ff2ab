// SPDX-License-Identifier: Apache-2.0
// UTF-8 as RFC 3629 defines it: names in files of Forebay and texts for users are UTF-8, while
// paths of a file system may have any bytes.
#pragma once

#include <cstddef>
#include <string_view>

namespace forebay {

/// Bytes of the character at the start of `text`, which is not empty; 0 if it is not valid.
std::size_t utf8_character_bytes(std::string_view text) noexcept;

/// Whether these bytes are UTF-8, as JSON and TOML require.
bool is_utf8(std::string_view text) noexcept;

}  // namespace forebay
