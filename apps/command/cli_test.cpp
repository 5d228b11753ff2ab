// SPDX-License-Identifier: Apache-2.0
#include "command/cli.hpp"

#include <forebay/range.hpp>

#include <gtest/gtest.h>

namespace forebay::command {
namespace {

enum class Color : std::uint8_t { kRed, kGreen, kBlue };

/// Arguments of every kind.
struct Arguments {
  std::string path;
  bool fast = false;
  std::uint64_t tasks = 4096;
  std::optional<std::uint32_t> step;
  std::uint64_t size_bytes = 0;
  double factor = 1;
  Color color = Color::kRed;
  std::string title;
  std::vector<std::string> names;
  std::vector<std::string> repeated;
};

void declare(CLI::App& app, Arguments& arguments) {
  add_path(app, "FILE", arguments.path, "The file");
  add_flag(app, "--fast", arguments.fast, true, "Hurry");
  add_number(app, "--tasks", arguments.tasks, {1, 10}, "Tasks");
  add_number(app, "--step", arguments.step, {}, "Step");
  add_size(app, "--size", arguments.size_bytes, {1024, 1024_GiB}, "Size");
  add_real(app, "--factor", arguments.factor, {0, 2}, "Factor");
  add_choice<Color>(app, "--color", arguments.color,
                    {{"red", Color::kRed}, {"green", Color::kGreen}, {"blue", Color::kBlue}},
                    "Color");
  add_text(app, "--title", "TEXT", arguments.title, "Title");
  add_names(app, "--names", arguments.names, "Names");
  add_values(
      app, "--each", "TEXT", [&](const auto& values) { arguments.repeated = values; }, "Words");
}

Result<Arguments> parse_arguments(const std::vector<std::string_view>& words) {
  Arguments arguments;
  CLI::App app("Test", "test");
  declare(app, arguments);
  return parse(app, words).map([&](const std::string&) { return arguments; });
}

std::string parse_error(const std::vector<std::string_view>& words) {
  const auto parsed = parse_arguments(words);
  if (parsed) return "was accepted";
  EXPECT_EQ(parsed.error().operation(), "usage");
  EXPECT_EQ(parsed.error().kind(), ErrorClass::kInvalidArgument);
  return parsed.error().cause();
}

TEST(Cli, options_before_and_after_path_are_parsed) {
  const auto parsed = parse_arguments({"--tasks", "7", "file", "--fast", "--size=3KiB", "--step=0",
                                       "--factor", "1e-3", "--color", "blue", "--title=a=b",
                                       "--names", "a,b\n\nc", "--each", "1", "--each=2"});
  ASSERT_TRUE(parsed) << parsed.error().message();
  EXPECT_EQ(parsed->path, "file");
  EXPECT_TRUE(parsed->fast);
  EXPECT_EQ(parsed->tasks, 7U);
  EXPECT_EQ(parsed->step, 0U);
  EXPECT_EQ(parsed->size_bytes, 3072U);
  EXPECT_EQ(parsed->factor, 1e-3);
  EXPECT_EQ(parsed->color, Color::kBlue);
  EXPECT_EQ(parsed->title, "a=b");
  EXPECT_EQ(parsed->names, (std::vector<std::string>{"a,b", "c"}));
  EXPECT_EQ(parsed->repeated, (std::vector<std::string>{"1", "2"}));
}

TEST(Cli, absent_options_keep_defaults) {
  const auto parsed = parse_arguments({"file"});
  ASSERT_TRUE(parsed);
  EXPECT_FALSE(parsed->fast);
  EXPECT_EQ(parsed->tasks, 4096U);
  EXPECT_EQ(parsed->step, std::nullopt);
}

TEST(Cli, dashed_path_after_double_dash_is_a_path) {
  EXPECT_EQ(parse_arguments({"--fast", "--", "--fast"})->path, "--fast");
  EXPECT_EQ(parse_arguments({"--", "-x"})->path, "-x");
  EXPECT_EQ(parse_arguments({"--", "a="})->path, "a=");
}

TEST(Cli, value_may_begin_with_dashes) {
  EXPECT_EQ(parse_arguments({"file", "--title", "--fast"})->title, "--fast");
  EXPECT_EQ(parse_arguments({"file", "--title", "[a,b]"})->title, "[a,b]");
}

TEST(Cli, invalid_arguments_return_usage_errors) {
  EXPECT_EQ(parse_error({"file", "--slow"}), "unknown option --slow");
  EXPECT_EQ(parse_error({"file", "--slow", "7", "--tasks", "5"}), "unknown option --slow");
  EXPECT_EQ(parse_error({"--slow"}), "unknown option --slow");
  EXPECT_EQ(parse_error({"-x"}), "unknown option -x; write ./-x for a file of that name");
  EXPECT_EQ(parse_error({"file", "--fast=yes"}), "--fast takes no value");
  EXPECT_EQ(parse_error({"file", "--tasks"}), "--tasks needs a value");
  EXPECT_EQ(parse_error({"--tasks=", "file"}), "--tasks needs a value");
  EXPECT_EQ(parse_error({"file", "--title", ""}), "--title needs a value");
  EXPECT_EQ(parse_error({"file", "--fast", "--fast"}), "--fast is given twice");
  EXPECT_EQ(parse_error({"file", "--tasks=1", "--tasks", "2"}), "--tasks is given twice");
  EXPECT_EQ(parse_error({"--fast"}), "FILE is required");
  EXPECT_EQ(parse_error({"a", "b"}), "unexpected argument 'b'");
  EXPECT_EQ(parse_error({""}), "FILE needs a value");
  EXPECT_EQ(parse_error({"a", "--color", "pink"}),
            "--color must be red, green or blue, not 'pink'");
}

TEST(Cli, numbers_must_be_whole_and_in_bounds) {
  for (const std::string text :
       {"0", "11", "-1", "+5", "0x5", " 5", "5x", "", "5.0", "99999999999999999999"}) {
    EXPECT_EQ(parse_error({"file", "--tasks", text}),
              "--tasks must be a whole number from 1 to 10, not '" + text + "'");
  }
  EXPECT_EQ(parse_arguments({"file", "--tasks", "10"})->tasks, 10U);
}

TEST(Cli, real_numbers_must_be_in_bounds) {
  for (const std::string text : {"-0.1", "2", "nan", "inf", "1x", "", "1e999"}) {
    EXPECT_EQ(parse_error({"file", "--factor", text}),
              "--factor must be a number from 0 to below 2, not '" + text + "'");
  }
}

TEST(Cli, sizes_use_syntax_of_settings) {
  for (const std::string_view text : {"67108864", "64MiB", "64 MiB", "64 mib", "65536kib"})
    EXPECT_EQ(parse_arguments({"file", "--size", text})->size_bytes, 64_MiB) << text;
  EXPECT_EQ(parse_arguments({"file", "--size", "1TB"})->size_bytes, 1'000'000'000'000U);
}

TEST(Cli, invalid_size_returns_error_with_option) {
  for (const std::string text :
       {"", "B", "GiB", "x", "-1", "-1GiB", "1.5GiB", "1 Qib", "nanKiB", "9999999999TB"}) {
    const std::string cause = parse_error({"file", "--size", text});
    EXPECT_TRUE(cause.starts_with("--size: \"" + text + "\" ")) << cause;
  }
  EXPECT_EQ(parse_error({"file", "--size", "1023"}),
            "--size must be from 1024 to 1099511627776 bytes, not '1023'");
}

/// Runs one of two commands, whose output is their name.
CommandResult run_one(const std::vector<std::string_view>& words) {
  CLI::App app("Test two commands.", "test");
  const auto declare = [](CLI::App& command) -> Run {
    const auto path = std::make_shared<std::string>();
    add_path(command, "FILE", *path, "The file");
    return
        [path, name = command.get_name()] { return CommandResult{.output = name + " " + *path}; };
  };
  const std::vector<Command> commands{{"read", "Read FILE.", declare},
                                      {"write", "Write FILE.", declare}};
  return run(app, words, commands);
}

TEST(Cli, first_word_selects_the_command) {
  EXPECT_EQ(run_one({"read", "a"}).output, "read a");
  EXPECT_EQ(run_one({"write", "read"}).output, "write read");
  const std::string required = "a command is required: read or write";
  for (const auto& [words, cause] :
       std::vector<std::pair<std::vector<std::string_view>, std::string>>{
           {{}, required},
           {{"dance", "a"}, required + ", not 'dance'"},
           {{"read"}, "FILE is required"},
           {{"read", "a", "b"}, "unexpected argument 'b'"},
           {{"read", "a", "--b"}, "unknown option --b"}}) {
    const CommandResult result = run_one(words);
    EXPECT_EQ(result.exit_code, kExitUsage);
    EXPECT_NE(result.errors.find("\"message\":\"" + cause + "\""), std::string::npos)
        << result.errors;
  }
}

TEST(Cli, help_lists_commands_and_options) {
  const CommandResult all = run_one({"--help"});
  EXPECT_EQ(all.exit_code, kExitSuccess);
  EXPECT_NE(all.output.find("Read FILE."), std::string::npos) << all.output;
  const CommandResult one = run_one({"write", "--help"});
  EXPECT_NE(one.output.find("test write"), std::string::npos) << one.output;
  EXPECT_TRUE(one.errors.empty());
}

}  // namespace
}  // namespace forebay::command
