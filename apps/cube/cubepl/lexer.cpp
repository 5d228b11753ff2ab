// SPDX-License-Identifier: Apache-2.0
#include "cube/cubepl/lexer.hpp"

#include <array>
#include <charconv>

#include <fmt/format.h>

namespace forebay::cubepl {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_name_char(char c) {
  return is_letter(c) || is_digit(c) || c == ':' || c == '_' || c == '-' || c == '#';
}
bool is_metric_char(char c) {
  return is_letter(c) || is_digit(c) || c == '_' || c == ':' || c == '=';
}

/// Longer symbols first: "<=" must not be read as "<".
constexpr std::array<std::string_view, 23> kSymbols = {"<<", ">>", "==", "!=", "<=", ">=", "(", ")",
                                                       "{",  "}",  "[",  "]",  ";",  ",",  "=", "<",
                                                       ">",  "+",  "-",  "*",  "/",  "^",  "|"};

}  // namespace

std::string describe(const Token& token) {
  switch (token.kind) {
    case TokenKind::kEnd:
      return "the end";
    case TokenKind::kNumber:
      return fmt::format("the number {}", token.number);
    case TokenKind::kText:
      return fmt::format("the text \"{}\"", token.text);
    case TokenKind::kVariable:
      return fmt::format("${{{}}}", token.text);
    case TokenKind::kPattern:
      return "'=~'";
    case TokenKind::kWord:
    case TokenKind::kSymbol:
      return fmt::format("'{}'", token.text);
  }
  return {};
}

char Lexer::peek(std::size_t ahead) const noexcept {
  return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
}

tl::unexpected<ScriptError> Lexer::script_error(std::size_t offset, std::string what) const {
  return tl::unexpected<ScriptError>({ErrorClass::kInvalidArgument, offset, std::move(what)});
}

void Lexer::skip_space() {
  while (!at_end()) {
    if (is_space(peek())) {
      ++at_;
    } else if (peek() == '/' && peek(1) == '/') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else {
      return;
    }
  }
}

Lexer::Lexed Lexer::next() {
  skip_space();
  if (at_end()) return Token{.kind = TokenKind::kEnd, .offset = text_.size()};
  const char c = peek();
  if (is_digit(c) || c == '.') return number();
  if (c == '"') return quoted();
  if (c == '$') return variable();
  if (c == '=' && peek(1) == '~') return pattern(at_);
  if (is_letter(c) || c == '_') return word();
  return symbol();
}

Lexer::Lexed Lexer::number() {
  const std::size_t begin = at_;
  while (is_digit(peek()) || peek() == '.')
    ++at_;
  Token token{.kind = TokenKind::kNumber, .offset = begin};
  const char* const end = text_.data() + at_;
  const auto [read, error] = std::from_chars(text_.data() + begin, end, token.number);
  if (error != std::errc{} || read != end)
    return script_error(begin,
                        fmt::format("'{}' is not a number; write digits with at most one point",
                                    text_.substr(begin, at_ - begin)));
  if (is_letter(peek()))
    return script_error(begin, "letters follow a number; exponents are not part of the language");
  return token;
}

Lexer::Lexed Lexer::quoted() {
  Token token{.kind = TokenKind::kText, .offset = at_++};
  for (; peek() != '"'; ++at_) {
    if (at_end()) return script_error(token.offset, "this text has no closing quote");
    if (peek() != '\\') {
      token.text += peek();
      continue;
    }
    ++at_;
    if (at_end()) return script_error(token.offset, "this text has no closing quote");
    const char c = peek();
    token.text += c == 't' ? '\t' : c == 'n' ? '\n' : c;
  }
  ++at_;
  return token;
}

Lexer::Lexed Lexer::variable() {
  const std::size_t begin = at_++;
  skip_space();
  if (peek() != '{')
    return script_error(begin, "'$' without a name; variables are written ${name}");
  ++at_;
  Lexed token = name();
  if (!token) return token;
  skip_space();
  if (peek() != '}') return script_error(begin, "this variable's name has no closing '}'");
  ++at_;
  token->kind = TokenKind::kVariable;
  token->offset = begin;
  return token;
}

Lexer::Lexed Lexer::name() {
  skip_space();
  const std::size_t begin = at_;
  if (!is_letter(peek())) return script_error(begin, "expected the name of a variable");
  while (is_name_char(peek()))
    ++at_;
  return Token{.kind = TokenKind::kWord,
               .offset = begin,
               .text = std::string(text_.substr(begin, at_ - begin))};
}

Lexer::Lexed Lexer::pattern(std::size_t begin) {
  at_ += 2;
  skip_space();
  if (peek() != '/') return script_error(begin, "'=~' without a pattern; write =~ /pattern/");
  Token token{.kind = TokenKind::kPattern, .offset = begin};
  for (++at_; peek() != '/'; ++at_) {
    if (at_end()) return script_error(begin, "this pattern has no closing '/'");
    if (peek() == '\\' && peek(1) == '/') ++at_;
    token.text += peek();
  }
  ++at_;
  return token;
}

Lexer::Lexed Lexer::word() {
  const std::size_t begin = at_;
  while (is_letter(peek()) || is_digit(peek()) || peek() == '_')
    ++at_;
  const std::string_view first = text_.substr(begin, at_ - begin);
  if ((first == "metric" || first == "cube") && peek() == ':') {
    while (is_metric_char(peek()))
      ++at_;
  }
  return Token{.kind = TokenKind::kWord,
               .offset = begin,
               .text = std::string(text_.substr(begin, at_ - begin))};
}

Lexer::Lexed Lexer::symbol() {
  for (const std::string_view symbol : kSymbols) {
    if (!text_.substr(at_).starts_with(symbol)) continue;
    const std::size_t begin = at_;
    at_ += symbol.size();
    return Token{.kind = TokenKind::kSymbol, .offset = begin, .text = std::string(symbol)};
  }
  const auto byte = static_cast<unsigned char>(peek());
  if (byte > 0x20 && byte < 0x7f)
    return script_error(at_, fmt::format("unknown character '{}'", peek()));
  return script_error(at_, fmt::format("unknown byte 0x{:02x}", byte));
}

}  // namespace forebay::cubepl
