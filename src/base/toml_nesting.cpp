// SPDX-License-Identifier: Apache-2.0
#include "base/toml_nesting.hpp"

#include <algorithm>
#include <vector>

namespace forebay {

namespace {

/// End of the comment or quoted text that begins at `at`. Multi-line strings have three quotes at
/// both ends.
std::size_t end_of_token(std::string_view text, std::size_t at) {
  const char first = text[at];
  if (first == '#') return std::min(text.find('\n', at), text.size());
  const bool is_long = text.substr(at, 3) == std::string(3, first);
  const std::string quotes(is_long ? 3 : 1, first);
  std::size_t end = at + quotes.size();
  while (end < text.size() && text.substr(end, quotes.size()) != quotes) {
    if (!is_long && text[end] == '\n') return end;  // invalid; the parser reports it
    end += first == '"' && text[end] == '\\' ? 2 : 1;
  }
  end = std::min(end + quotes.size(), text.size());
  // A multi-line string may end in up to five quotes, of which the first two belong to it.
  for (int extra = 0; is_long && extra < 2 && end < text.size() && text[end] == first; ++extra)
    ++end;
  return end;
}

bool is_part_of_key(char letter) {
  const bool is_word = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                       (letter >= '0' && letter <= '9');
  return is_word || letter == '_' || letter == '-' || letter == ' ' || letter == '\t';
}

/// Counts the parts of the current key, including those of enclosing tables.
class KeyDepth {
 public:
  void consume(char letter) {
    if (is_part_of_key(letter)) return;
    if (letter == '.') {
      ++parts_;
      return;
    }
    if (letter == '{' || letter == '[') {
      outer_.push_back(value_parts_);
      enclosing_parts_ += value_parts_;
    } else if ((letter == '}' || letter == ']') && !outer_.empty()) {
      enclosing_parts_ -= outer_.back();
      outer_.pop_back();
    }
    value_parts_ = letter == '=' ? parts_ : 0;
    parts_ = 1;
  }
  std::size_t parts() const noexcept { return enclosing_parts_ + parts_; }

 private:
  std::size_t parts_ = 1;
  std::size_t value_parts_ = 0;      // parts of the key whose value begins; 0: none
  std::size_t enclosing_parts_ = 0;  // parts of the keys of open tables and arrays
  std::vector<std::size_t> outer_;
};

}  // namespace

Status check_toml_nesting(std::string_view text,
                          std::string_view operation,
                          const std::string& path) {
  KeyDepth depth;
  for (std::size_t at = 0; at < text.size();) {
    const char letter = text[at];
    if (letter == '"' || letter == '\'' || letter == '#') {
      at = end_of_token(text, at);
      continue;
    }
    ++at;
    depth.consume(letter);
    if (depth.parts() <= kKeyPartsMax) continue;
    const auto line = 1 + std::ranges::count(text.substr(0, at), '\n');
    return failure({.kind = ErrorClass::kInvalidArgument,
                    .operation = std::string(operation),
                    .path = path,
                    .cause = "line " + std::to_string(line) + ": a key has more than " +
                             std::to_string(kKeyPartsMax) +
                             " parts, including those of enclosing tables"});
  }
  return {};
}

}  // namespace forebay
