// SPDX-License-Identifier: Apache-2.0
#include "command/arguments.hpp"

#include <forebay/range.hpp>

#include <gtest/gtest.h>

namespace forebay::command {
namespace {

const ArgumentSpec kRules{{"--fast"}, {"--size", "--tasks"}};

Result<Arguments> parse(const std::vector<std::string_view>& words) {
  return Arguments::parse(words, kRules);
}

std::string parse_error(const std::vector<std::string_view>& words) {
  const auto parsed = parse(words);
  if (parsed) return "was accepted";
  EXPECT_EQ(parsed.error().operation(), "usage");
  return parsed.error().cause();
}

TEST(Arguments, options_before_and_after_path_are_parsed) {
  const auto parsed = parse({"--tasks", "7", "file", "--fast", "--size=3KiB"});
  ASSERT_TRUE(parsed) << parsed.error().message();
  EXPECT_EQ(parsed->path(), "file");
  EXPECT_TRUE(parsed->has("--fast"));
  EXPECT_EQ(parsed->number("--tasks", 1, {}), 7U);
  EXPECT_EQ(*parsed->size_bytes("--size", {}), 3072U);
}

TEST(Arguments, absent_options_return_defaults) {
  const auto parsed = parse({"file"});
  ASSERT_TRUE(parsed);
  EXPECT_FALSE(parsed->has("--fast"));
  EXPECT_EQ(parsed->text("--size"), std::nullopt);
  EXPECT_EQ(parsed->number("--tasks", 4096, {}), 4096U);
  EXPECT_EQ(*parsed->size_bytes("--size", {}), std::nullopt);
}

TEST(Arguments, dashed_path_after_double_dash_is_a_path) {
  EXPECT_EQ(parse({"--fast", "--", "--fast"})->path(), "--fast");
}

TEST(Arguments, invalid_arguments_return_usage_errors) {
  EXPECT_EQ(parse_error({"file", "--slow"}), "unknown option --slow");
  EXPECT_EQ(parse_error({"file", "--fast=yes"}), "--fast takes no value");
  EXPECT_EQ(parse_error({"file", "--tasks"}), "--tasks needs a value");
  EXPECT_EQ(parse_error({"file", "--fast", "--fast"}), "--fast is given twice");
  EXPECT_EQ(parse_error({"--fast"}), "one FILE is needed, 0 are given");
  EXPECT_EQ(parse_error({"a", "b"}), "one FILE is needed, 2 are given");
  EXPECT_EQ(parse_error({""}), "one FILE is needed, 1 are given");
}

TEST(Arguments, numbers_must_be_whole_and_in_bounds) {
  for (const std::string_view text : {"0", "11", "-1", "5x", "", "5.0", "99999999999999999999"}) {
    const auto parsed = parse({"file", "--tasks", text});
    ASSERT_TRUE(parsed);
    EXPECT_FALSE(parsed->number("--tasks", 1, {1, 10})) << text;
  }
  EXPECT_EQ(parse({"file", "--tasks", "10"})->number("--tasks", 1, {1, 10}), 10U);
}

TEST(Arguments, sizes_use_syntax_of_settings) {
  for (const std::string_view text : {"67108864", "64MiB", "64 MiB", "64 mib", "65536kib"}) {
    EXPECT_EQ(*parse({"file", "--size", text})->size_bytes("--size", {}), 64_MiB) << text;
  }
  EXPECT_EQ(*parse({"file", "--size", "2TB"})->size_bytes("--size", {}), 2'000'000'000'000U);
}

TEST(Arguments, invalid_size_returns_error_with_option) {
  for (const std::string_view text :
       {"", "B", "GiB", "x", "-1", "-1GiB", "1.5GiB", "1 Qib", "nanKiB", "9999999999TB"}) {
    const auto size = parse({"file", "--size", text})->size_bytes("--size", {});
    ASSERT_FALSE(size) << text;
    EXPECT_EQ(size.error().operation(), "usage");
    EXPECT_TRUE(size.error().cause().starts_with("--size: \"" + std::string(text) + "\" "))
        << size.error().cause();
  }
}

TEST(Arguments, size_out_of_bounds_returns_error_with_bounds) {
  const auto size_of = [](std::string_view text) {
    return parse({"file", "--size", text})->size_bytes("--size", {1024, 4096});
  };
  EXPECT_EQ(*size_of("1KiB"), 1024U);
  EXPECT_EQ(*size_of("4KiB"), 4096U);
  EXPECT_EQ(size_of("1023").error().cause(), "--size must be from 1024 to 4096 bytes, not '1023'");
  EXPECT_FALSE(size_of("4097"));
}

TEST(Arguments, two_paths_are_required_if_specified) {
  const ArgumentSpec rules{{}, {}, 2};
  const std::vector<std::string_view> both{"a", "--", "b"};
  const auto parsed = Arguments::parse(both, rules);
  ASSERT_TRUE(parsed) << parsed.error().message();
  EXPECT_EQ(parsed->path(), "a");
  EXPECT_EQ(parsed->paths().back(), "b");
  const std::vector<std::string_view> one{"a"};
  EXPECT_EQ(Arguments::parse(one, rules).error().cause(), "2 FILEs are needed, 1 are given");
}

}  // namespace
}  // namespace forebay::command
