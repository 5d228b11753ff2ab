// SPDX-License-Identifier: Apache-2.0
#include "trace/signature_scanner.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>

#include "base/printable.hpp"

namespace forebay::trace {

namespace {

constexpr std::size_t kShownBytesMax = 40;
constexpr std::uint64_t kNumberMax = std::uint64_t{1} << 63U;

enum class Character : std::uint8_t { kDigit, kLetter, kSpace, kNotAscii, kOther };

Character kind_of(char letter) {
  if (letter >= '0' && letter <= '9') return Character::kDigit;
  if ((letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z'))
    return Character::kLetter;
  if (letter == ' ' || letter == '\t' || letter == '\n' || letter == '\r') return Character::kSpace;
  constexpr unsigned char kAsciiMax = 0x7f;
  return static_cast<unsigned char>(letter) > kAsciiMax ? Character::kNotAscii : Character::kOther;
}

}  // namespace

void SignatureScanner::skip_spaces() {
  while (offset_ < text_.size()) {
    if (text_[offset_] == '#')
      offset_ = std::min(text_.find('\n', offset_), text_.size());
    else if (kind_of(text_[offset_]) == Character::kSpace)
      ++offset_;
    else
      return;
  }
}

void SignatureScanner::scan() {
  offset_ += token_.size();
  skip_spaces();
  token_ = text_.substr(offset_, 1);
  if (is_end() || kind_of(token_.front()) == Character::kOther) return;
  const Character kind = kind_of(token_.front());
  std::size_t end = offset_ + 1;
  while (end < text_.size() && kind_of(text_[end]) == kind)
    ++end;
  token_ = text_.substr(offset_, end - offset_);
}

bool SignatureScanner::is_number() const noexcept {
  return !is_end() && kind_of(token_.front()) == Character::kDigit;
}

bool SignatureScanner::skip(std::string_view token) {
  if (token_ != token) return false;
  scan();
  return true;
}

bool SignatureScanner::expect(std::string_view token) {
  return skip(token) || fail("\"" + std::string(token) + "\"");
}

std::optional<std::uint64_t> SignatureScanner::expect_number() {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(token_.data(), token_.data() + token_.size(), number);
  if (!is_number() || error != std::errc() || number > kNumberMax) {
    fail(is_number() ? "a number up to 2^63 - 1" : "a number");
    return std::nullopt;
  }
  scan();
  return number;
}

bool SignatureScanner::fail(std::string_view expected) {
  std::string finding = "expected " + std::string(expected) + ", found ";
  if (is_end())
    finding += "the end of the text";
  else
    finding += "\"" + to_printable(token_.substr(0, kShownBytesMax)) + "\"";
  return fail_at(offset_, finding);
}

bool SignatureScanner::fail_at(std::size_t offset, std::string_view finding) {
  if (!error_.empty()) return false;
  const std::string_view before = text_.substr(0, offset);
  const std::size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0
  error_ = "line " + std::to_string(1 + std::ranges::count(before, '\n')) + ", column " +
           std::to_string(1 + offset - line_begin) + ": " + std::string(finding);
  return false;
}

}  // namespace forebay::trace
