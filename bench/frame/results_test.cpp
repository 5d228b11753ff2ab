// SPDX-License-Identifier: Apache-2.0
// The JSON form is fixed: its keys are spelled out here, so that a change of them changes this
// file.
#include "bench/frame/results.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/frame/command.hpp"

namespace forebay::bench {
namespace {

using nlohmann::json;

TEST(Results, worst_summary_depends_on_the_direction) {
  const std::vector<Summary> summaries{summarize({2}), summarize({1}), summarize({3})};
  EXPECT_DOUBLE_EQ(worst_of(summaries, Better::kHigher).median, 1);
  EXPECT_DOUBLE_EQ(worst_of(summaries, Better::kLower).median, 3);
}

TEST(Results, row_with_goal_and_peer_has_exactly_these_keys) {
  const ResultRow row{.id = "solo.warm.over_pread",
                      .unit = "1",
                      .measured = summarize({0.5, 0.75, 0.25}),
                      .goal = Goal{0.75},
                      .peers = {{"pread", "s", summarize({2.0})}}};
  EXPECT_EQ(to_json(row), json::parse(R"({
      "id": "solo.warm.over_pread", "value": 0.5, "unit": "1", "spread": [0.25, 0.75],
      "spread_kind": "range", "runs": 3, "goal": 0.75, "better": "lower", "met": true,
      "peers": {"pread": {"value": 2.0, "unit": "s", "spread": [2.0, 2.0],
                          "spread_kind": "range", "runs": 1}}})"));
}

TEST(Results, row_without_goal_has_nulls) {
  const json row = to_json(ResultRow{
      .id = "x", .unit = "s", .measured = summarize({1}), .goal = std::nullopt, .peers = {}});
  EXPECT_TRUE(row["goal"].is_null());
  EXPECT_TRUE(row["better"].is_null());
  EXPECT_TRUE(row["met"].is_null());
  EXPECT_EQ(row["peers"], json::object());
}

TEST(Results, goal_is_met_at_its_value_in_its_direction) {
  EXPECT_TRUE(is_goal_met(summarize({0.75}), {0.75, Better::kLower}));
  EXPECT_FALSE(is_goal_met(summarize({0.76}), {0.75, Better::kLower}));
  EXPECT_TRUE(is_goal_met(summarize({0.75}), {0.75, Better::kHigher}));
  EXPECT_FALSE(is_goal_met(summarize({0.74}), {0.75, Better::kHigher}));
}

TEST(Results, report_has_exactly_these_keys) {
  Report report{.benchmark = "solo", .rows = {}};
  report.rows.push_back({"a", "1", summarize({1}), std::nullopt, {}});
  const json document = to_json(report);
  EXPECT_EQ(document.size(), 6U);
  EXPECT_EQ(document["benchmark"], "solo");
  EXPECT_EQ(document["version"], FOREBAY_VERSION);
  EXPECT_EQ(document["parameters"], json::object());
  EXPECT_EQ(document["machine"], json::object());
  EXPECT_EQ(document["results"][0]["id"], "a");
  EXPECT_EQ(document["skipped"], json::object());
}

TEST(Command, options_and_name_come_in_any_order) {
  const std::vector<const char*> words = {"--quick", "solo",  "--dir",     "/d",
                                          "--only",  "a,b,,", "--progress"};
  const auto command = parse_command(words);
  ASSERT_TRUE(command) << command.error().message();
  EXPECT_EQ(command->name, "solo");
  EXPECT_EQ(command->effort, Effort::kQuick);
  EXPECT_EQ(command->progress_mode, ProgressMode::kJsonLines);
  EXPECT_EQ(command->parent, "/d");
  EXPECT_THAT(command->only, testing::ElementsAre("a", "b"));
}

TEST(Command, full_option_is_parsed) {
  const std::vector<const char*> words = {"solo", "--full"};
  EXPECT_EQ(parse_command(words)->effort, Effort::kFull);
}

TEST(Command, partial_results_option_is_parsed) {
  const std::vector<const char*> words = {"solo", "--partial-results", "/d/file"};
  EXPECT_EQ(parse_command(words)->partial_results, "/d/file");
}

TEST(Command, wrong_usage_has_an_error_text) {
  const auto parse_error = [](std::vector<const char*> words) {
    return parse_command(words).error().cause();
  };
  EXPECT_EQ(parse_error({}), "no benchmark; name one, or use --list");
  EXPECT_EQ(parse_error({"a", "b"}), "unexpected argument 'b'");
  EXPECT_EQ(parse_error({"a", "--fast"}), "unknown option --fast");
  EXPECT_EQ(parse_error({"a", "--dir"}), "--dir needs a value");
  EXPECT_EQ(parse_error({"--full", "a", "--quick"}), "--quick excludes --full");
  EXPECT_EQ(parse_error({"a", "--ranks", "2"}), "unknown option --ranks");
}

TEST(Command, ranks_option_is_parsed_by_programs_of_ranks) {
  const std::vector<const char*> words = {"solo", "--ranks", "2"};
  EXPECT_EQ(parse_command(words, RanksOption::kPresent)->ranks, 2U);
}

TEST(Command, help_and_list_need_no_ranks) {
  for (const char* const word : {"--help", "--list"}) {
    const auto command = parse_command(std::vector<const char*>{word});
    ASSERT_TRUE(command) << command.error().message();
    EXPECT_FALSE(command->needs_ranks());
    EXPECT_EQ(command->help.empty(), command->action == Action::kList);
  }
}

TEST(Command, list_names_and_describes) {
  const std::map<std::string, Benchmark> two = {{"b", {"b", "second", nullptr}},
                                                {"a", {"a", "first", nullptr}}};
  EXPECT_EQ(list_json(two), json::parse(R"([{"name": "a", "description": "first"},
                                            {"name": "b", "description": "second"}])"));
}

}  // namespace
}  // namespace forebay::bench
