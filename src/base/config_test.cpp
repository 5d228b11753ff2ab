// SPDX-License-Identifier: Apache-2.0
// Settings: their sources and precedence, and the text of their errors.
#include "base/config.hpp"

#include <forebay/range.hpp>

#include <array>
#include <cstdio>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/testing.hpp"

namespace forebay {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::array<ConfigKey, 5> kKeys{{{"read.memory", "memory of a session"},
                                          {"read.agents", "agents of a session"},
                                          {"storage.backend", "ring or threads"},
                                          {"storage.share", "a share"},
                                          {"verbose", "more output"}}};

/// A settings file, removed at the end of the test.
class SettingsFile {
 public:
  explicit SettingsFile(std::string_view content) {
    std::string pattern = ::testing::TempDir() + "forebay-config-XXXXXX";
    const int descriptor = ::mkstemp(pattern.data());
    path_ = pattern;
    EXPECT_EQ(::write(descriptor, content.data(), content.size()),
              static_cast<ssize_t>(content.size()));
    ::close(descriptor);
  }
  ~SettingsFile() { ::unlink(path_.c_str()); }
  SettingsFile(const SettingsFile&) = delete;
  SettingsFile& operator=(const SettingsFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

Result<Config> load_variables(Environment environment) {
  return Config::load({.keys = kKeys, .environment = std::move(environment)});
}

Result<Config> load_text(std::string_view toml, Environment environment = {}) {
  const SettingsFile file(toml);
  return Config::load({.keys = kKeys, .environment = std::move(environment), .file = file.path()});
}

constexpr Setting<std::uint64_t> kMemory{.fallback = 64_MiB, .min = 1_MiB, .max = 1_GiB};

TEST(Config, unset_keys_return_fallbacks) {
  const auto config = load_variables({{"HOME", "/root"}, {"PATH", "/bin"}});
  ASSERT_TRUE(config) << config.error().message();
  EXPECT_EQ(*config->bytes("read.memory", kMemory), 64_MiB);
  EXPECT_EQ(*config->text("storage.backend", "auto"), "auto");
  EXPECT_EQ(*config->count("read.agents", {.fallback = 3, .min = 1, .max = 9}), 3U);
  EXPECT_EQ(*config->real("storage.share", {.fallback = 0.5, .min = 0, .max = 1}), 0.5);
  EXPECT_FALSE(*config->flag("verbose", false));
  EXPECT_FALSE(config->is_set("verbose"));
}

TEST(Config, variables_are_settings) {
  const auto config = load_variables({{"FOREBAY_READ_MEMORY", "2MiB"},
                                      {"FOREBAY_VERBOSE", "Yes"},
                                      {"FOREBAY_STORAGE_SHARE", "0.25"}});
  ASSERT_TRUE(config) << config.error().message();
  EXPECT_EQ(*config->bytes("read.memory", kMemory), 2_MiB);
  EXPECT_TRUE(*config->flag("verbose", false));
  EXPECT_EQ(*config->real("storage.share", {.fallback = 0.5, .min = 0, .max = 1}), 0.25);
}

TEST(Config, file_has_tables_and_types) {
  const auto config = load_text(R"(
verbose = true
[read]
memory = "128 MiB"
agents = 4
[storage]
backend = "ring"
share = 0.75
)");
  ASSERT_TRUE(config) << config.error().message();
  EXPECT_EQ(*config->bytes("read.memory", kMemory), 128_MiB);
  EXPECT_EQ(*config->count("read.agents", {.fallback = 3, .min = 1, .max = 9}), 4U);
  EXPECT_EQ(*config->text("storage.backend", "auto"), "ring");
  EXPECT_EQ(*config->real("storage.share", {.fallback = 0.5, .min = 0, .max = 1}), 0.75);
  EXPECT_TRUE(*config->flag("verbose", false));
  EXPECT_TRUE(config->is_set("verbose"));
}

TEST(Config, variable_overrides_file) {
  const auto config = load_text("[read]\nagents = 4\n", {{"FOREBAY_READ_AGENTS", "5"}});
  ASSERT_TRUE(config) << config.error().message();
  EXPECT_EQ(*config->count("read.agents", {.fallback = 3, .min = 1, .max = 9}), 5U);
}

TEST(Config, variable_names_the_file) {
  const SettingsFile file("verbose = true\n");
  const auto config = load_variables({{"FOREBAY_CONFIG", file.path()}});
  ASSERT_TRUE(config) << config.error().message();
  EXPECT_TRUE(*config->flag("verbose", false));
}

TEST(Config, unknown_key_in_file_names_place_and_nearest_key) {
  const auto config = load_text("\n[read]\nmemroy = 3\n");
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().kind(), ErrorClass::kInvalidArgument);
  EXPECT_THAT(config.error().message(), AllOf(HasSubstr("line 3"), HasSubstr("\"read.memroy\""),
                                              HasSubstr("the nearest one is \"read.memory\"")));
}

TEST(Config, unknown_variable_names_the_nearest_one) {
  const auto config = load_variables({{"FOREBAY_READ_AGENT", "3"}});
  ASSERT_FALSE(config);
  EXPECT_THAT(config.error().message(),
              AllOf(HasSubstr("\"FOREBAY_READ_AGENT\""), HasSubstr("\"FOREBAY_READ_AGENTS\"")));
}

TEST(Config, unknown_variable_suggests_one_that_is_not_a_setting) {
  constexpr std::array<std::string_view, 1> kOthers{"FOREBAY_PLAN"};
  const auto config = Config::load(
      {.keys = kKeys, .environment = {{"FOREBAY_PLN", "x"}}, .other_variables = kOthers});
  ASSERT_FALSE(config);
  EXPECT_TRUE(message_contains(config.error(), "the nearest one is \"FOREBAY_PLAN\""));
}

TEST(Config, variables_of_other_programs_are_ignored) {
  constexpr std::array<std::string_view, 1> kOthers{"FOREBAY_SAMPLES"};
  const auto config = Config::load(
      {.keys = kKeys, .environment = {{"FOREBAY_SAMPLES", "/data"}}, .other_variables = kOthers});
  EXPECT_TRUE(config) << config.error().message();
}

TEST(Config, variables_of_forebay_tests_are_ignored) {
  EXPECT_TRUE(load_variables({{"FOREBAY_TEST_ALL", "1"}}));
  EXPECT_FALSE(load_variables({{"FOREBAY_TESTS", "1"}}));
}

TEST(Config, missing_file_is_not_found) {
  const auto config =
      Config::load({.keys = kKeys, .environment = {}, .file = "/nowhere/forebay.toml"});
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().kind(), ErrorClass::kNotFound);
  EXPECT_EQ(config.error().path(), "/nowhere/forebay.toml");
}

TEST(Config, directory_as_file_is_an_error) {
  const auto config =
      Config::load({.keys = kKeys, .environment = {}, .file = ::testing::TempDir()});
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().kind(), ErrorClass::kInvalidArgument);
}

TEST(Config, text_that_is_not_toml_names_the_line) {
  const auto config = load_text("verbose = true\nread memory\n");
  ASSERT_FALSE(config);
  EXPECT_THAT(config.error().message(), HasSubstr("line 2"));
}

// Nested tables exhausted the stack.
TEST(Config, key_with_too_many_parts_names_the_line) {
  std::string key = "a";
  for (int i = 0; i < 50'000; ++i)
    key += ".a";
  const auto config = load_text(key + " = 1\n");
  ASSERT_EQ(error_class(config), ErrorClass::kInvalidArgument);
  EXPECT_TRUE(message_contains(config.error(), "line 1: a key has more than 64 parts"));
}

TEST(Config, arrays_are_rejected) {
  const auto config = load_text("verbose = [1, 2]\n");
  ASSERT_FALSE(config);
  EXPECT_THAT(config.error().message(), HasSubstr("a setting is text, a number or a boolean"));
}

TEST(Config, value_out_of_range_names_limits_and_origin) {
  const auto config = load_variables({{"FOREBAY_READ_MEMORY", "2GiB"}});
  const auto bytes = config->bytes("read.memory", kMemory);
  ASSERT_FALSE(bytes);
  EXPECT_THAT(bytes.error().message(),
              AllOf(HasSubstr("FOREBAY_READ_MEMORY"),
                    HasSubstr("2147483648 is not between 1048576 and 1073741824")));
}

TEST(Config, wrong_types_are_errors) {
  const auto config = load_variables({{"FOREBAY_READ_MEMORY", "lots"},
                                      {"FOREBAY_READ_AGENTS", "-1"},
                                      {"FOREBAY_STORAGE_SHARE", "nan"},
                                      {"FOREBAY_VERBOSE", "maybe"}});
  ASSERT_TRUE(config);
  EXPECT_FALSE(config->bytes("read.memory", kMemory));
  EXPECT_FALSE(config->count("read.agents", {.fallback = 3, .min = 1, .max = 9}));
  EXPECT_FALSE(config->count("storage.share", {.fallback = 3, .min = 1, .max = 9}));
  EXPECT_FALSE(config->real("storage.share", {.fallback = 0.5, .min = 0, .max = 1}));
  EXPECT_FALSE(config->real("read.memory", {.fallback = 0.5, .min = 0, .max = 1}));
  EXPECT_FALSE(config->flag("verbose", false));
}

TEST(Config, process_environment_contains_set_variable) {
  ::setenv("FOREBAY_TEST_VARIABLE", "a=b", 1);
  const Environment environment = process_environment();
  ::unsetenv("FOREBAY_TEST_VARIABLE");
  EXPECT_THAT(environment, ::testing::Contains(::testing::Pair(std::string("FOREBAY_TEST_VARIABLE"),
                                                               std::string("a=b"))));
}

TEST(ParseSize, units_of_1024_and_1000) {
  EXPECT_EQ(*parse_size("0"), 0U);
  EXPECT_EQ(*parse_size("4096"), 4096U);
  EXPECT_EQ(*parse_size("7B"), 7U);
  EXPECT_EQ(*parse_size("64KiB"), 64_KiB);
  EXPECT_EQ(*parse_size("64 mib"), 64_MiB);
  EXPECT_EQ(*parse_size("2GiB"), 2_GiB);
  EXPECT_EQ(*parse_size("1TiB"), 1024_GiB);
  EXPECT_EQ(*parse_size("3kB"), 3000U);
  EXPECT_EQ(*parse_size("3MB"), 3'000'000U);
  EXPECT_EQ(*parse_size("3GB"), 3'000'000'000U);
  EXPECT_EQ(*parse_size("1TB"), 1'000'000'000'000U);
}

TEST(ParseSize, invalid_text_is_an_error) {
  for (const char* text : {"", "MiB", "-1", "12Q", "1.5GiB", "0x10", " 1", "1MiBs"}) {
    EXPECT_FALSE(parse_size(text)) << text;
  }
}

TEST(ParseSize, overflow_is_an_error) {
  EXPECT_FALSE(parse_size("18446744073709551616"));
  EXPECT_FALSE(parse_size("16777216TiB"));
  EXPECT_EQ(*parse_size("18446744073709551615"), UINT64_MAX);
}

}  // namespace
}  // namespace forebay
