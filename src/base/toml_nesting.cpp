// SPDX-License-Identifier: Apache-2.0
#include "base/toml_nesting.hpp"

#include <algorithm>
#include <vector>

namespace forebay {

namespace {

/// The first place behind a comment or a quoted text that begins at `at`; strings of several lines
/// are three quotes long at both ends.
std::size_t end_of_token(std::string_view text, std::size_t at) {
  const char first = text[at];
  if (first == '#') return std::min(text.find('\n', at), text.size());
  const bool is_long = text.substr(at, 3) == std::string(3, first);
  const std::string quotes(is_long ? 3 : 1, first);
  std::size_t end = at + quotes.size();
  while (end < text.size() && text.substr(end, quotes.size()) != quotes) {
    if (!is_long && text[end] == '\n') return end;  // not valid: the parser reports it
    end += first == '"' && text[end] == '\\' ? 2 : 1;
  }
  end = std::min(end + quotes.size(), text.size());
  // A string of several lines may end in up to five quotes, of which the first two belong to it.
  for (int extra = 0; is_long && extra < 2 && end < text.size() && text[end] == first; ++extra)
    ++end;
  return end;
}

bool is_part_of_key(char letter) {
  const bool is_word = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                       (letter >= '0' && letter <= '9');
  return is_word || letter == '_' || letter == '-' || letter == ' ' || letter == '\t';
}

/// Counts the parts of the key that is being read, with those of the tables that it is in.
class KeyDepth {
 public:
  void take(char letter) {
    if (is_part_of_key(letter)) return;
    if (letter == '.') {
      ++parts_;
      return;
    }
    if (letter == '{' || letter == '[') {
      outer_.push_back(assigned_);
      around_ += assigned_;
    } else if ((letter == '}' || letter == ']') && !outer_.empty()) {
      around_ -= outer_.back();
      outer_.pop_back();
    }
    assigned_ = letter == '=' ? parts_ : 0;
    parts_ = 1;
  }
  std::size_t parts() const noexcept { return around_ + parts_; }

 private:
  std::size_t parts_ = 1;
  std::size_t assigned_ = 0;  // parts of a key of which the value begins; 0: none
  std::size_t around_ = 0;    // parts of the keys of open tables and arrays
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
    depth.take(letter);
    if (depth.parts() <= kKeyPartsMax) continue;
    const auto line = 1 + std::ranges::count(text.substr(0, at), '\n');
    return failure({.kind = ErrorClass::kInvalidArgument,
                    .operation = std::string(operation),
                    .path = path,
                    .cause = "line " + std::to_string(line) + ": a key has more than " +
                             std::to_string(kKeyPartsMax) +
                             " parts, those of the tables around it included"});
  }
  return {};
}

}  // namespace forebay
