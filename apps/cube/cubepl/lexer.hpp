// SPDX-License-Identifier: Apache-2.0
// Words of CubePL. Variables and patterns are words as a whole, because what may stand between
// their marks (a # or a - in a name, anything in a pattern) means something else outside of them.
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
  kPattern,   ///< =~ and what stands between the slashes
  kWord,      ///< a keyword, or metric:: and cube:: with all that belongs to them
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

/// How a person is told of `token`: "'while'", "the number 12", "the end".
std::string describe(const Token& token);

/// Reads a script from its begin to its end. After an Error it may not be asked again.
class Lexer {
 public:
  /// `text` must live as long as the lexer.
  explicit Lexer(std::string_view text) noexcept : text_(text) {}

  tl::expected<Token, Fault> next();
  /// The name of a variable, as in global(name); to be asked for right after the parenthesis.
  tl::expected<Token, Fault> name();

 private:
  using Lexed = tl::expected<Token, Fault>;

  void skip_space();
  bool at_end() const noexcept { return at_ >= text_.size(); }
  char peek(std::size_t ahead = 0) const noexcept;
  tl::unexpected<Fault> fault(std::size_t offset, std::string what) const;

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
