// SPDX-License-Identifier: Apache-2.0
// Plans as text: what is read, what is refused with its line, and the page that lists the keys.
#include <array>
#include <fstream>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing.hpp"
#include "write/plan_fields.hpp"
#include "write/plan_variable.hpp"

namespace forebay {
namespace {

using ::testing::HasSubstr;

WritePlan plan_with_all() {
  return {.strategy = Strategy::kBrigade,
          .writers = 8,
          .files = 4,
          .memory_bytes = 256_MiB,
          .staging_full_policy = StagingFullPolicy::kFail,
          .steps_in_flight = 3,
          .retained_steps = 5,
          .codec = Codec::kZstd,
          .codec_level = 7,
          .step_timeout = std::chrono::milliseconds(1500),
          .tuning = {.exchange = Exchange::kBrigade,
                     .transfer_mode = TransferMode::kIndependent,
                     .placement = Placement::kDedicated,
                     .access = Access::kDirect,
                     .stripe_count = 3,
                     .stripe_bytes = 1_MiB,
                     .unit_bytes = 2_MiB,
                     .alignment_bytes = 64_KiB,
                     .steps_per_group = 10,
                     .checksum_stage = ChecksumStage::kAgent}};
}

TEST(PlanText, every_field_is_read_back) {
  WritePlan plan = plan_with_all();
  EXPECT_EQ(*parse_write_plan(to_toml(plan), "test"), plan);
  const std::string text = to_toml(plan);
  plan.reason = "because\nof \"this\"";
  EXPECT_EQ(to_toml(plan), "# because of \"this\"\n" + text);
  plan.reason.clear();
  EXPECT_EQ(*parse_write_plan(to_toml(plan), "test"), plan);
}

TEST(PlanText, presets_are_read_back) {
  for (const write::Name name : write::kStrategyNames) {
    const WritePlan plan = plan_of(*parse_strategy(name));
    EXPECT_EQ(name_of(plan.strategy), name);
    EXPECT_EQ(*parse_write_plan(to_toml(plan), "test"), plan);
  }
  EXPECT_EQ(to_toml({}), "");
  EXPECT_EQ(*parse_write_plan("", "test"), WritePlan{});
}

struct InvalidPlan {
  std::string_view text;
  std::string_view message;
};

TEST(PlanText, invalid_text_is_refused_with_line_and_allowed_values) {
  constexpr std::array<InvalidPlan, 11> kInvalidPlans{{
      {"writers = 2\nfile = 3\n", "line 2: there is no key \"file\"; the nearest one is \"files\""},
      {"strategy = \"rbIO\"\n", "line 1: strategy is \"rbIO\": write one of auto, serial"},
      {"\nstrategy = 3\n", "line 2: strategy is no text: write one of"},
      {"writers = \"all\"\n", "line 1: writers is no whole number"},
      {"writers = -1\n", "line 1: writers is -1: write a whole number from 0 to"},
      {"unit_bytes = \"4 foo\"\n", "unit_bytes is no size: write bytes, or text like"},
      {"unit_bytes = \"2 GiB\"\n", "unit_bytes is 2 GiB: write bytes"},
      {"memory_bytes = -5\n", "memory_bytes is no size"},
      {"step_timeout_ms = 0\n", "step_timeout_ms is 0: write a whole number from 1 to 86400000"},
      {"codec_level = 3\n", "make codec zstd"},
      {"writers = = 2\n", "line 1: "},
  }};
  for (const InvalidPlan& invalid : kInvalidPlans) {
    const auto plan = parse_write_plan(invalid.text, "plan.toml");
    ASSERT_FALSE(plan) << invalid.text;
    EXPECT_EQ(plan.error().kind(), ErrorClass::kInvalidArgument);
    EXPECT_THAT(plan.error().message(), HasSubstr("plan.toml"));
    EXPECT_THAT(plan.error().message(), HasSubstr(invalid.message));
  }
}

TEST(PlanText, key_with_too_many_parts_is_refused) {
  std::string key = "a";
  for (int i = 0; i < 50'000; ++i)
    key += ".a";
  EXPECT_EQ(error_class(parse_write_plan(key + " = 1\n", "deep")), ErrorClass::kInvalidArgument);
}

TEST(PlanText, variable_may_name_file_or_strategy) {
  const TemporaryDirectory directory;
  const std::string path = directory / "plan.toml";
  std::ofstream(path) << "strategy = \"gather\"\nretained_steps = 2\n";
  const WritePlan expected{.strategy = Strategy::kGather, .retained_steps = 2};
  EXPECT_EQ(*load_write_plan(path), expected);
  EXPECT_EQ(*write::parse_plan_variable(Environment{{"FOREBAY_PLAN", path}}), expected);
  EXPECT_EQ(*write::parse_plan_variable(Environment{{"FOREBAY_PLAN", "baton"}}),
            plan_of(Strategy::kBaton));
  EXPECT_EQ(*write::parse_plan_variable(Environment{{"FOREBAY_PLAN", ""}}), std::nullopt);
  EXPECT_EQ(*write::parse_plan_variable(Environment{}), std::nullopt);
  const auto neither = write::parse_plan_variable(Environment{{"FOREBAY_PLAN", "batons"}});
  EXPECT_EQ(error_class(neither), ErrorClass::kNotFound);
  EXPECT_THAT(neither.error().message(), HasSubstr("one of auto, serial, file-per-process"));
  EXPECT_EQ(error_class(load_write_plan(directory / "none")), ErrorClass::kNotFound);
}

TEST(PlanText, unknown_strategy_error_lists_all_names) {
  const auto strategy = parse_strategy("rbio");
  EXPECT_EQ(error_class(strategy), ErrorClass::kInvalidArgument);
  EXPECT_THAT(strategy.error().message(), HasSubstr("reduced-blocking"));
}

/// What the page and the code have for one key, to compare: its names or its range.
struct Keys {
  template <class Value>
  void enumerator(write::Name key, Value&, std::span<const write::Name> names) {
    for (const write::Name name : names)
      words[std::string(key)].insert(std::string(name));
  }
  template <class Value>
  void count(write::Name key, Value&, const write::Limits& one) {
    limits[std::string(key)] = one;
  }
  template <class Value>
  void time(write::Name key, Value&, const write::Limits& one) {
    limits[std::string(key)] = one;
  }
  template <class Value>
  void size(write::Name key, Value&, const write::Limits& one) {
    limits[std::string(key)] = one;
  }
  std::map<std::string, std::set<std::string>> words;
  std::map<std::string, write::Limits> limits;
};

TEST(Page, strategies_page_lists_every_key_and_name) {
  std::ifstream file(FOREBAY_SOURCE_DIR "/docs/guides/strategies.md");
  std::map<std::string, std::string> rows;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("| `")) continue;
    const std::size_t end = line.find('`', 3);
    rows[line.substr(3, end - 3)] = line;
  }
  Keys keys;
  WritePlan plan;
  write::visit_plan(keys, plan);
  for (const auto& [key, words] : keys.words) {
    ASSERT_TRUE(rows.contains(key)) << key;
    if (key == "strategy") continue;
    for (const std::string& word : words)
      EXPECT_THAT(rows[key], HasSubstr("`" + word + "`"));
  }
  for (const std::string& word : keys.words["strategy"])
    EXPECT_TRUE(word == "auto" || rows.contains(word)) << word;
  for (const auto& [key, bounds] : keys.limits) {
    ASSERT_TRUE(rows.contains(key)) << key;
    if (bounds.max == 86'400'000 || bounds.max <= 1'000'000) {
      const bool by_servers = key == "stripe_count";
      EXPECT_TRUE(by_servers ||
                  rows[key].find("… " + std::to_string(bounds.max)) != std::string::npos)
          << rows[key];
    }
  }
}

TEST(Page, strategies_page_example_is_valid) {
  std::ifstream file(FOREBAY_SOURCE_DIR "/docs/guides/strategies.md");
  std::ostringstream text;
  text << file.rdbuf();
  const std::string page = text.str();
  const std::size_t begin = page.find("```toml\n") + 8;
  const auto plan = parse_write_plan(page.substr(begin, page.find("```", begin) - begin), "page");
  ASSERT_TRUE(plan) << plan.error().message();
  EXPECT_EQ(plan->strategy, Strategy::kReducedBlocking);
  EXPECT_EQ(plan->step_timeout, std::chrono::seconds(20));
}

}  // namespace
}  // namespace forebay
