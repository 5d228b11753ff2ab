// SPDX-License-Identifier: Apache-2.0
#include "base/printable.hpp"

#include <algorithm>

namespace forebay {

namespace {

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; }

/// Length of the UTF-8 character at the start of `text`. 0 if it is none, or a control character.
std::size_t character_bytes(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return first >= 0x20 && first != 0x7F ? 1 : 0;
  const std::size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < bytes) return 0;
  if (!std::ranges::all_of(text.substr(1, bytes - 1), is_continuation)) return 0;
  const auto second = static_cast<unsigned char>(text[1]);
  const bool is_overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool is_not_scalar = (first == 0xED && second > 0x9F) || (first == 0xF4 && second > 0x8F);
  return is_overlong || is_not_scalar ? 0 : bytes;
}

}  // namespace

std::string to_printable(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string line;
  while (!text.empty()) {
    const std::size_t bytes = character_bytes(text);
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
