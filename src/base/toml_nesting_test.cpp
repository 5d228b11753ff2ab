// SPDX-License-Identifier: Apache-2.0
#include "base/toml_nesting.hpp"

#include <string>

#include <gtest/gtest.h>
#include <toml++/toml.h>

#include "base/testing.hpp"

namespace forebay {
namespace {

std::string key_of(std::size_t parts, const std::string& part = "a") {
  std::string key = part;
  for (std::size_t i = 1; i < parts; ++i)
    key += "." + part;
  return key;
}

bool is_accepted(const std::string& text) {
  return check_toml_nesting(text, "read", "file.toml").has_value();
}

TEST(TomlNesting, keys_within_the_limit_are_accepted) {
  EXPECT_TRUE(is_accepted(key_of(kKeyPartsMax) + " = 1\n[" + key_of(kKeyPartsMax) + "]\n"));
  EXPECT_TRUE(is_accepted(""));
}

TEST(TomlNesting, longer_keys_are_rejected_with_their_line) {
  const std::string deep = key_of(50'000);
  for (const std::string& text :
       {"x = 1\n" + deep + " = 1", "\n[" + deep + "]", "\n[[" + deep + "]]",
        "\nx = {" + deep + " = 1}", "\nx = {y = \"\"\"z\"\"\"\", " + deep + " = 1}",
        "\nx = {y = \'\'\'z\'\'\'\'\', " + deep + " = 1}", "\n" + key_of(100, "\"q.q\"") + " = 1",
        "\n" + key_of(100, " a\t") + " = 1"}) {
    const Status checked = check_toml_nesting(text, "read", "file.toml");
    ASSERT_EQ(error_class(checked), ErrorClass::kInvalidArgument) << text.substr(0, 20);
    EXPECT_TRUE(
        message_contains(checked.error(), "file.toml: line 2: a key has more than 64 parts"))
        << checked.error().message();
  }
}

std::string repeated(const std::string& text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i)
    result += text;
  return result;
}

// The parser limits these without help; otherwise the stack would be the limit.
TEST(TomlNesting, deep_arrays_are_an_error_of_the_parser) {
  const std::string text = "key = " + repeated("[", 100'000);
  EXPECT_TRUE(is_accepted(text));
  EXPECT_THROW(static_cast<void>(toml::parse(text)), toml::parse_error);
}

// The parser counts inline tables, but not the tables of each key in them.
TEST(TomlNesting, keys_of_inline_tables_include_enclosing_keys) {
  const std::string key = key_of(16);
  EXPECT_TRUE(is_accepted("x = {" + repeated(key + " = {", 3) + "a.b = 1" + repeated("}", 4)));
  EXPECT_FALSE(is_accepted("x = {" + repeated(key + " = {", 4) + "a = 1" + repeated("}", 5)));
  EXPECT_FALSE(is_accepted("x = " + repeated("{a = ", 100) + "1" + repeated("}", 100)));
  EXPECT_FALSE(is_accepted("x = [" + repeated("{" + key + " = [", 4) + "{a = 1}"));
  EXPECT_TRUE(is_accepted("x = [" + repeated("{" + key + " = 1}, ", 100) + "]\n"));
  EXPECT_TRUE(is_accepted(repeated("[" + key + "]\n" + key + " = 1\n", 100)));
}

TEST(TomlNesting, dots_in_values_and_comments_are_not_keys) {
  const std::string dots(1000, '.');
  std::string numbers;
  for (int i = 0; i < 1000; ++i)
    numbers += "0.5, ";
  EXPECT_TRUE(is_accepted("x = [" + numbers + "]\n"));
  EXPECT_TRUE(is_accepted("x = \"" + dots + "\"\ny = '" + dots + "' # " + dots + "\n"));
  EXPECT_TRUE(is_accepted("x = \"\"\"\n" + dots + "\n\"" + dots + "\"\"\"\n"));
  EXPECT_TRUE(is_accepted("x = \"\\\"" + dots + "\"\n"));
}

TEST(TomlNesting, incomplete_texts_are_left_to_the_parser) {
  for (const std::string text : {"\"", "'''", "\"\\", "#", "x = \"abc\n"})
    EXPECT_TRUE(is_accepted(text));
}

}  // namespace
}  // namespace forebay
