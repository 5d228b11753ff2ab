// SPDX-License-Identifier: Apache-2.0
// The JSON form is a promise: its keys are written out here, so that a change of them is a change
// of this file.
#include "bench/frame/results.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/frame/command.hpp"

namespace forebay::bench {
namespace {

using nlohmann::json;

TEST(Results, row_with_goal_and_peer_has_exactly_these_keys) {
  const ResultRow row{.id = "solo.warm.over_pread",
                      .unit = "1",
                      .measured = summarise({0.5, 0.75, 0.25}),
                      .goal = Goal{0.75},
                      .peers = {{"pread", "s", summarise({2.0})}}};
  EXPECT_EQ(to_json(row), json::parse(R"({
      "id": "solo.warm.over_pread", "value": 0.5, "unit": "1", "spread": [0.25, 0.75],
      "spread_kind": "range", "runs": 3, "goal": 0.75, "better": "lower", "met": true,
      "peers": {"pread": {"value": 2.0, "unit": "s", "spread": [2.0, 2.0],
                          "spread_kind": "range", "runs": 1}}})"));
}

TEST(Results, row_without_goal_says_so_with_nulls) {
  const json row = to_json(ResultRow{
      .id = "x", .unit = "s", .measured = summarise({1}), .goal = std::nullopt, .peers = {}});
  EXPECT_TRUE(row["goal"].is_null());
  EXPECT_TRUE(row["better"].is_null());
  EXPECT_TRUE(row["met"].is_null());
  EXPECT_EQ(row["peers"], json::object());
}

TEST(Results, goal_is_met_at_its_value_in_its_direction) {
  EXPECT_TRUE(meets(summarise({0.75}), {0.75, Better::kLower}));
  EXPECT_FALSE(meets(summarise({0.76}), {0.75, Better::kLower}));
  EXPECT_TRUE(meets(summarise({0.75}), {0.75, Better::kHigher}));
  EXPECT_FALSE(meets(summarise({0.74}), {0.75, Better::kHigher}));
}

TEST(Results, report_has_exactly_these_keys) {
  Report report{.benchmark = "solo", .rows = {}};
  report.rows.push_back({"a", "1", summarise({1}), std::nullopt, {}});
  const json document = to_json(report);
  EXPECT_EQ(document.size(), 6U);
  EXPECT_EQ(document["benchmark"], "solo");
  EXPECT_EQ(document["version"], FOREBAY_VERSION);
  EXPECT_EQ(document["parameters"], json::object());
  EXPECT_EQ(document["machine"], json::object());
  EXPECT_EQ(document["results"][0]["id"], "a");
  EXPECT_EQ(document["left_out"], json::object());
}

TEST(Command, options_and_name_come_in_any_order) {
  const std::vector<const char*> words = {"--quick", "solo",  "--dir",     "/d",
                                          "--only",  "a,b,,", "--progress"};
  const auto command = parse_command(words);
  ASSERT_TRUE(command) << command.error();
  EXPECT_EQ(command->name, "solo");
  EXPECT_EQ(command->effort, Effort::kQuick);
  EXPECT_EQ(command->telling, Telling::kTell);
  EXPECT_EQ(command->parent, "/d");
  EXPECT_THAT(command->only, testing::ElementsAre("a", "b"));
}

TEST(Command, large_files_are_asked_for) {
  const std::vector<const char*> words = {"solo", "--full"};
  EXPECT_EQ(parse_command(words)->effort, Effort::kFull);
}

TEST(Command, results_until_now_are_asked_for) {
  const std::vector<const char*> words = {"solo", "--so-far", "/d/file"};
  EXPECT_EQ(parse_command(words)->so_far, "/d/file");
}

TEST(Command, wrong_usage_is_told_in_words) {
  const auto complaint = [](std::vector<const char*> words) {
    return parse_command(words).error();
  };
  EXPECT_EQ(complaint({}), "which benchmark?");
  EXPECT_EQ(complaint({"a", "b"}), "only one benchmark at a time: b");
  EXPECT_EQ(complaint({"a", "--fast"}), "unknown option --fast");
  EXPECT_EQ(complaint({"a", "--dir"}), "--dir needs a value");
  EXPECT_EQ(complaint({"--full", "a", "--quick"}), "--quick excludes --full");
}

TEST(Command, list_names_and_describes) {
  const std::map<std::string, Benchmark> two = {{"b", {"b", "second", nullptr}},
                                                {"a", {"a", "first", nullptr}}};
  EXPECT_EQ(list_json(two), json::parse(R"([{"name": "a", "description": "first"},
                                            {"name": "b", "description": "second"}])"));
}

}  // namespace
}  // namespace forebay::bench
