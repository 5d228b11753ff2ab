// SPDX-License-Identifier: Apache-2.0
// SignatureScanner: tokens of signatures, and errors that name line and column.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace forebay::trace {

/// Tokens are digits, letters, or one other character. Spaces, line breaks and comments from "#" to
/// the end of the line separate them. Keeps the first error.
class SignatureScanner {
 public:
  /// `text` must outlive the scanner.
  explicit SignatureScanner(std::string_view text) : text_(text) { scan(); }

  /// Empty at the end.
  std::string_view token() const noexcept { return token_; }
  std::size_t offset() const noexcept { return offset_; }
  bool is_number() const noexcept;
  bool is_end() const noexcept { return token_.empty(); }

  void take() { scan(); }
  /// Takes this token if it is the next.
  bool skip(std::string_view token);
  /// As skip(); reports an error if it is another.
  bool expect(std::string_view token);
  /// Takes a number up to 2^63, without sign.
  std::optional<std::uint64_t> expect_number();

  /// Reports an error at the current token. Returns false.
  bool fail(std::string_view expected);
  /// Reports another error, at the byte `offset`. Returns false.
  bool fail_at(std::size_t offset, std::string_view finding);
  /// "line 2, column 7: expected ...". Columns count bytes. Empty without an error.
  const std::string& error() const noexcept { return error_; }

 private:
  void scan();
  void skip_spaces();

  std::string_view text_;
  std::size_t offset_ = 0;
  std::string_view token_;
  std::string error_;
};

}  // namespace forebay::trace
