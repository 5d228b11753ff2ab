// SPDX-License-Identifier: Apache-2.0
#include "cube/cubepl/lexer.hpp"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace forebay::cubepl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Each word as an error would name it; the fault ends the list.
std::vector<std::string> words_of(std::string_view text) {
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

std::string fault_of(std::string_view text) {
  Lexer lexer(text);
  while (true) {
    const auto token = lexer.next();
    if (!token) return token.error().what;
    if (token->kind == TokenKind::kEnd) return "none";
  }
}

Token first_of(std::string_view text) { return Lexer(text).next().value_or(Token{}); }

TEST(Lexer, longer_symbols_come_first) {
  EXPECT_THAT(words_of("<= < == = != > >="),
              ElementsAre("'<='", "'<'", "'=='", "'='", "'!='", "'>'", "'>='"));
}

TEST(Lexer, comments_end_with_their_line) {
  EXPECT_THAT(words_of("1 // 2 3\n 4 // 5"), ElementsAre("the number 1", "the number 4"));
}

TEST(Lexer, division_is_no_comment) {
  EXPECT_THAT(words_of("1/2"), ElementsAre("the number 1", "'/'", "the number 2"));
}

TEST(Lexer, numbers_have_at_most_one_point) {
  EXPECT_EQ(first_of("12.5").number, 12.5);
  EXPECT_EQ(first_of(".5").number, 0.5);
  EXPECT_EQ(first_of("5.").number, 5);
  EXPECT_THAT(fault_of("1.2.3"), HasSubstr("'1.2.3' is no number"));
  EXPECT_THAT(fault_of("."), HasSubstr("'.' is no number"));
  EXPECT_THAT(fault_of("1e5"), HasSubstr("exponents"));
}

TEST(Lexer, names_of_variables_may_have_what_words_may_not) {
  EXPECT_EQ(first_of("${cube::#callpaths}").text, "cube::#callpaths");
  EXPECT_EQ(first_of("${ a-b }").text, "a-b");
  EXPECT_EQ(first_of("${a}").kind, TokenKind::kVariable);
  EXPECT_THAT(fault_of("${1}"), HasSubstr("name of a variable"));
  EXPECT_THAT(fault_of("${a"), HasSubstr("closing '}'"));
  EXPECT_THAT(fault_of("$a"), HasSubstr("${name}"));
}

TEST(Lexer, texts_have_three_escapes) {
  EXPECT_EQ(first_of(R"("a\"b\t\n\d")").text, "a\"b\t\nd");
  EXPECT_THAT(fault_of("\"abc"), HasSubstr("closing quote"));
  EXPECT_THAT(fault_of("\"abc\\"), HasSubstr("closing quote"));
}

TEST(Lexer, patterns_keep_their_backslashes_but_those_before_slashes) {
  const Token token = first_of(R"(=~ /^a\/b\$.*\s/)");
  EXPECT_EQ(token.kind, TokenKind::kPattern);
  EXPECT_EQ(token.text, R"(^a/b\$.*\s)");
  EXPECT_THAT(fault_of("=~ /abc"), HasSubstr("closing '/'"));
  EXPECT_THAT(fault_of("=~ abc"), HasSubstr("=~ /pattern/"));
}

TEST(Lexer, names_of_metrics_belong_to_their_word) {
  EXPECT_THAT(words_of("metric::perf::cycles=1(e)"),
              ElementsAre("'metric::perf::cycles=1'", "'('", "'e'", "')'"));
  EXPECT_THAT(words_of("metrics=1"), ElementsAre("'metrics'", "'='", "the number 1"));
}

TEST(Lexer, unknown_bytes_are_named) {
  EXPECT_THAT(fault_of("a ? b"), HasSubstr("unknown character '?'"));
  EXPECT_THAT(fault_of("\xff"), HasSubstr("unknown byte 0xff"));
  EXPECT_THAT(words_of("a ?"), ElementsAre("'a'", "fault at 2"));
}

}  // namespace
}  // namespace forebay::cubepl
