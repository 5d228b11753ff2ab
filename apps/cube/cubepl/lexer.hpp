// SPDX-License-Identifier: Apache-2.0
// Tokens of CubePL. Variables and patterns are single tokens, because characters between their
// delimiters (# or - in a name, anything in a pattern) have another meaning outside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "cube/cubepl/script.hpp"

namespace forebay::cubepl {

enum class TokenKind : std::uint8_t {
  kEnd,
  kNumber,    ///< number
  kText,      ///< text, without quotes and escapes
  kVariable,  ///< text is the name between ${ and }
  kPattern,   ///< =~ and the text between the slashes
  kWord,      ///< a keyword, or metric:: or cube:: with all its parts
  kSymbol,    ///< operators and parentheses
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::size_t offset = 0;  ///< of its first byte
  std::string text;
  double number = 0;

  bool is_symbol(std::string_view symbol) const {
    return kind == TokenKind::kSymbol && text == symbol;
  }
  bool is_word(std::string_view word) const { return kind == TokenKind::kWord && text == word; }
};

/// Describes `token` for errors: "'while'", "the number 12", "the end".
std::string describe(const Token& token);

/// Reads a script from its beginning to its end. Must not be used after an Error.
class Lexer {
 public:
  /// `text` must outlive the lexer.
  explicit Lexer(std::string_view text) noexcept : text_(text) {}

  tl::expected<Token, ScriptError> next();
  /// Returns the name of a variable, as in global(name). Must be called right after the
  /// parenthesis.
  tl::expected<Token, ScriptError> name();

 private:
  using Lexed = tl::expected<Token, ScriptError>;

  void skip_space();
  bool at_end() const noexcept { return at_ >= text_.size(); }
  char peek(std::size_t ahead = 0) const noexcept;
  tl::unexpected<ScriptError> script_error(std::size_t offset, std::string what) const;

  Lexed number();
  Lexed quoted();
  Lexed variable();
  Lexed pattern(std::size_t begin);
  Lexed word();
  Lexed symbol();

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace forebay::cubepl
