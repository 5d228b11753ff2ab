// SPDX-License-Identifier: Apache-2.0
#include "cube/cubepl/lexer.hpp"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace forebay::cubepl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// The tokens as an error describes them; an error ends the list.
std::vector<std::string> tokens_of(std::string_view text) {
  std::vector<std::string> words;
  Lexer lexer(text);
  while (true) {
    const auto token = lexer.next();
    if (!token) {
      words.push_back("fault at " + std::to_string(token.error().offset));
      return words;
    }
    if (token->kind == TokenKind::kEnd) return words;
    words.push_back(describe(*token));
  }
}

std::string lex_error(std::string_view text) {
  Lexer lexer(text);
  while (true) {
    const auto token = lexer.next();
    if (!token) return token.error().message;
    if (token->kind == TokenKind::kEnd) return "none";
  }
}

Token first_token(std::string_view text) { return Lexer(text).next().value_or(Token{}); }

TEST(Lexer, longer_symbols_are_preferred) {
  EXPECT_THAT(tokens_of("<= < == = != > >="),
              ElementsAre("'<='", "'<'", "'=='", "'='", "'!='", "'>'", "'>='"));
}

TEST(Lexer, comments_end_at_end_of_line) {
  EXPECT_THAT(tokens_of("1 // 2 3\n 4 // 5"), ElementsAre("the number 1", "the number 4"));
}

TEST(Lexer, division_is_not_a_comment) {
  EXPECT_THAT(tokens_of("1/2"), ElementsAre("the number 1", "'/'", "the number 2"));
}

TEST(Lexer, numbers_have_at_most_one_point) {
  EXPECT_EQ(first_token("12.5").number, 12.5);
  EXPECT_EQ(first_token(".5").number, 0.5);
  EXPECT_EQ(first_token("5.").number, 5);
  EXPECT_THAT(lex_error("1.2.3"), HasSubstr("'1.2.3' is not a number"));
  EXPECT_THAT(lex_error("."), HasSubstr("'.' is not a number"));
  EXPECT_THAT(lex_error("1e5"), HasSubstr("exponents"));
}

TEST(Lexer, variable_names_allow_more_characters_than_words) {
  EXPECT_EQ(first_token("${cube::#callpaths}").text, "cube::#callpaths");
  EXPECT_EQ(first_token("${ a-b }").text, "a-b");
  EXPECT_EQ(first_token("${a}").kind, TokenKind::kVariable);
  EXPECT_THAT(lex_error("${1}"), HasSubstr("name of a variable"));
  EXPECT_THAT(lex_error("${a"), HasSubstr("closing '}'"));
  EXPECT_THAT(lex_error("$a"), HasSubstr("${name}"));
}

TEST(Lexer, texts_have_three_escapes) {
  EXPECT_EQ(first_token(R"("a\"b\t\n\d")").text, "a\"b\t\nd");
  EXPECT_THAT(lex_error("\"abc"), HasSubstr("closing quote"));
  EXPECT_THAT(lex_error("\"abc\\"), HasSubstr("closing quote"));
}

TEST(Lexer, patterns_keep_backslashes_except_before_slashes) {
  const Token token = first_token(R"(=~ /^a\/b\$.*\s/)");
  EXPECT_EQ(token.kind, TokenKind::kPattern);
  EXPECT_EQ(token.text, R"(^a/b\$.*\s)");
  EXPECT_THAT(lex_error("=~ /abc"), HasSubstr("closing '/'"));
  EXPECT_THAT(lex_error("=~ abc"), HasSubstr("=~ /pattern/"));
}

TEST(Lexer, metric_names_are_part_of_the_token) {
  EXPECT_THAT(tokens_of("metric::perf::cycles=1(e)"),
              ElementsAre("'metric::perf::cycles=1'", "'('", "'e'", "')'"));
  EXPECT_THAT(tokens_of("metrics=1"), ElementsAre("'metrics'", "'='", "the number 1"));
}

TEST(Lexer, unknown_bytes_are_named) {
  EXPECT_THAT(lex_error("a ? b"), HasSubstr("unknown character '?'"));
  EXPECT_THAT(lex_error("\xff"), HasSubstr("unknown byte 0xff"));
  EXPECT_THAT(tokens_of("a ?"), ElementsAre("'a'", "fault at 2"));
}

}  // namespace
}  // namespace forebay::cubepl
