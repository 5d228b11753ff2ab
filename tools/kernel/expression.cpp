// SPDX-License-Identifier: Apache-2.0
// Precedence climbing, at most FK_STACK_MAX values deep.
#include "tools/kernel/expression.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstddef>

namespace forebay::kernel {

namespace {

constexpr int kProductLevel = 2;

struct Operator {
  char sign;
  fk_token_kind kind;
  int level;
};
constexpr Operator kOperators[] = {{'+', FK_ADD, 1},
                                   {'-', FK_SUBTRACT, 1},
                                   {'*', FK_MULTIPLY, kProductLevel},
                                   {'/', FK_DIVIDE, kProductLevel},
                                   {'%', FK_MODULO, kProductLevel}};

bool is_name_character(char one) {
  return std::isalnum(static_cast<unsigned char>(one)) != 0 || one == '_';
}

/// Each parse_...() returns false after an error.
class ExpressionParser {
 public:
  ExpressionParser(const std::string& text, const std::vector<std::string>& names)
      : text_(text), names_(names) {}

  bool parse() { return parse_sum(1) && (next() == '\0' || fail("an operator")); }
  std::vector<fk_token> tokens;
  std::string error;

 private:
  bool fail(const std::string& expected) {
    error =
        "expected " + expected + " at column " + std::to_string(at_ + 1) + " of \"" + text_ + '"';
    return false;
  }
  char next() {
    while (at_ < text_.size() && text_[at_] == ' ')
      ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool add(fk_token_kind kind, std::int64_t value) {
    tokens.push_back({kind, value});
    const bool is_value = kind == FK_NUMBER || kind == FK_NAME;
    depth_ += is_value ? 1 : -1;
    return depth_ <= FK_STACK_MAX || fail("a shorter expression");
  }

  bool parse_sum(int level) {
    if (!parse_value()) return false;
    while (true) {
      const char sign = next();
      const auto* const found = std::ranges::find(kOperators, sign, &Operator::sign);
      if (found == std::end(kOperators) || found->level < level) return true;
      ++at_;
      if (!parse_sum(found->level + 1) || !add(found->kind, 0)) return false;
    }
  }

  bool parse_value() {
    if (next() == '(') {
      ++at_;
      if (++brackets_ > FK_STACK_MAX) return fail("fewer brackets");
      if (!parse_sum(1)) return false;
      if (next() != ')') return fail("\")\"");
      ++at_;
      return true;
    }
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_name_character(text_[at_]))
      ++at_;
    const std::string word = text_.substr(begin, at_ - begin);
    const auto name = std::ranges::find(names_, word);
    if (name != names_.end()) return add(FK_NAME, name - names_.begin());
    std::int64_t number = 0;
    const auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (failed == std::errc() && end == word.data() + word.size()) return add(FK_NUMBER, number);
    at_ = begin;
    return fail("a number, an earlier name or \"(\"");
  }

  const std::string& text_;
  const std::vector<std::string>& names_;
  std::size_t at_ = 0;
  int depth_ = 0;
  int brackets_ = 0;
};

}  // namespace

Result<std::vector<fk_token>> parse_expression(const std::string& text,
                                               const std::vector<std::string>& names) {
  ExpressionParser parser(text, names);
  if (parser.parse()) return std::move(parser.tokens);
  return failure({.kind = ErrorClass::kInvalidArgument,
                  .operation = "parse an expression",
                  .cause = parser.error});
}

}  // namespace forebay::kernel
