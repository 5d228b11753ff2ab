// SPDX-License-Identifier: Apache-2.0
#include "base/printable.hpp"

#include <algorithm>

#include "base/utf8.hpp"

namespace forebay {

namespace {

bool is_control(char one) {
  const auto byte = static_cast<unsigned char>(one);
  return byte < 0x20 || byte == 0x7f;
}

}  // namespace

std::string to_printable(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string line;
  while (!text.empty()) {
    const std::size_t bytes = is_control(text[0]) ? 0 : utf8_character_bytes(text);
    if (bytes > 0) {
      line += text.substr(0, bytes);
    } else if (text[0] == '\n') {
      line += "\\n";
    } else {
      const auto byte = static_cast<unsigned char>(text[0]);
      line += {'\\', 'x', kDigits[byte / 16], kDigits[byte % 16]};
    }
    text.remove_prefix(std::max<std::size_t>(bytes, 1));
  }
  return line;
}

}  // namespace forebay
