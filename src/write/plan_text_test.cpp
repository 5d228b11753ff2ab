// SPDX-License-Identifier: Apache-2.0
// Plans as text: what is read, what is refused and where, and the page that lists the keys.
#include <array>
#include <fstream>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing.hpp"
#include "write/plan_fields.hpp"

namespace forebay {
namespace {

using ::testing::HasSubstr;

WritePlan plan_with_all() {
  return {.strategy = Strategy::kBrigade,
          .writers = 8,
          .files = 4,
          .hand_off = HandOff::kBrigade,
          .schedule = Schedule::kIndependent,
          .placement = Placement::kDedicated,
          .targets = 3,
          .stripe_bytes = 1_MiB,
          .unit_bytes = 2_MiB,
          .alignment_bytes = 64_KiB,
          .memory_bytes = 256_MiB,
          .when_full = WhenFull::kFail,
          .steps_in_flight = 3,
          .steps_per_group = 10,
          .keep = 5,
          .codec = Codec::kZstd,
          .codec_level = 7,
          .checksum_by = ChecksumBy::kAgent,
          .deadline = std::chrono::milliseconds(1500)};
}

TEST(PlanText, of_every_field_is_read_back) {
  WritePlan plan = plan_with_all();
  EXPECT_EQ(*write_plan_from(to_toml(plan), "test"), plan);
  const std::string text = to_toml(plan);
  plan.reason = "because\nof \"this\"";
  EXPECT_EQ(to_toml(plan), "# because of \"this\"\n" + text);
  plan.reason.clear();
  EXPECT_EQ(*write_plan_from(to_toml(plan), "test"), plan);
}

TEST(PlanText, of_presets_is_read_back) {
  for (const write::Word name : write::kStrategyNames) {
    const WritePlan plan = plan_of(*strategy_named(name));
    EXPECT_EQ(name_of(plan.strategy), name);
    EXPECT_EQ(*write_plan_from(to_toml(plan), "test"), plan);
  }
  EXPECT_EQ(to_toml({}), "");
  EXPECT_EQ(*write_plan_from("", "test"), WritePlan{});
}

struct Refusal {
  std::string_view text;
  std::string_view says;
};

TEST(PlanText, that_is_wrong_is_refused_with_line_and_what_is_allowed) {
  constexpr std::array<Refusal, 11> kRefusals{{
      {"writers = 2\nfile = 3\n", "line 2: there is no key \"file\"; the nearest one is \"files\""},
      {"strategy = \"rbIO\"\n", "line 1: strategy is \"rbIO\": write one of auto, serial"},
      {"\nstrategy = 3\n", "line 2: strategy is no text: write one of"},
      {"writers = \"all\"\n", "line 1: writers is no whole number"},
      {"writers = -1\n", "line 1: writers is -1: write a whole number from 0 to"},
      {"unit_bytes = \"4 foo\"\n", "unit_bytes is no size: write bytes, or text like"},
      {"unit_bytes = \"2 GiB\"\n", "unit_bytes is 2 GiB: write bytes"},
      {"memory_bytes = -5\n", "memory_bytes is no size"},
      {"deadline_ms = 0\n", "deadline_ms is 0: write a whole number from 1 to 86400000"},
      {"codec_level = 3\n", "make codec zstd"},
      {"writers = = 2\n", "line 1: "},
  }};
  for (const Refusal& refusal : kRefusals) {
    const auto plan = write_plan_from(refusal.text, "plan.toml");
    ASSERT_FALSE(plan) << refusal.text;
    EXPECT_EQ(plan.error().kind(), ErrorClass::kInvalidArgument);
    EXPECT_THAT(plan.error().message(), HasSubstr("plan.toml"));
    EXPECT_THAT(plan.error().message(), HasSubstr(refusal.says));
  }
}

TEST(PlanText, key_of_too_many_parts_is_refused) {
  std::string key = "a";
  for (int i = 0; i < 50'000; ++i)
    key += ".a";
  EXPECT_EQ(error_class(write_plan_from(key + " = 1\n", "deep")), ErrorClass::kInvalidArgument);
}

TEST(PlanText, may_be_a_file_or_a_name_in_a_variable) {
  const TemporaryFolder folder;
  const std::string path = folder / "plan.toml";
  std::ofstream(path) << "strategy = \"gather\"\nkeep = 2\n";
  const WritePlan expected{.strategy = Strategy::kGather, .keep = 2};
  EXPECT_EQ(*write_plan_from_file(path), expected);
  EXPECT_EQ(*write_plan_from(Environment{{"FOREBAY_PLAN", path}}), expected);
  EXPECT_EQ(*write_plan_from(Environment{{"FOREBAY_PLAN", "baton"}}), plan_of(Strategy::kBaton));
  EXPECT_EQ(*write_plan_from(Environment{{"FOREBAY_PLAN", ""}}), std::nullopt);
  EXPECT_EQ(*write_plan_from(Environment{}), std::nullopt);
  const auto neither = write_plan_from(Environment{{"FOREBAY_PLAN", "batons"}});
  EXPECT_EQ(error_class(neither), ErrorClass::kNotFound);
  EXPECT_THAT(neither.error().message(), HasSubstr("one of auto, serial, file-per-process"));
  EXPECT_EQ(error_class(write_plan_from_file(folder / "none")), ErrorClass::kNotFound);
}

TEST(PlanText, of_an_unknown_strategy_lists_those_there_are) {
  const auto strategy = strategy_named("rbio");
  EXPECT_EQ(error_class(strategy), ErrorClass::kInvalidArgument);
  EXPECT_THAT(strategy.error().message(), HasSubstr("reduced-blocking"));
}

/// What the page and the code say of one key, for comparison: its words or its range.
struct Keys {
  template <class Value>
  void word(write::Word key, Value&, std::span<const write::Word> names) {
    for (const write::Word name : names)
      words[std::string(key)].insert(std::string(name));
  }
  template <class Value>
  void count(write::Word key, Value&, const write::Limits& one) {
    limits[std::string(key)] = one;
  }
  template <class Value>
  void time(write::Word key, Value&, const write::Limits& one) {
    limits[std::string(key)] = one;
  }
  template <class Value>
  void size(write::Word key, Value&, const write::Limits& one) {
    limits[std::string(key)] = one;
  }
  std::map<std::string, std::set<std::string>> words;
  std::map<std::string, write::Limits> limits;
};

TEST(Page, of_strategies_lists_every_key_and_every_word) {
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
      const bool by_servers = key == "targets";
      EXPECT_TRUE(by_servers ||
                  rows[key].find("… " + std::to_string(bounds.max)) != std::string::npos)
          << rows[key];
    }
  }
}

TEST(Page, of_strategies_has_an_example_that_is_read) {
  std::ifstream file(FOREBAY_SOURCE_DIR "/docs/guides/strategies.md");
  std::ostringstream text;
  text << file.rdbuf();
  const std::string page = text.str();
  const std::size_t begin = page.find("```toml\n") + 8;
  const auto plan = write_plan_from(page.substr(begin, page.find("```", begin) - begin), "page");
  ASSERT_TRUE(plan) << plan.error().message();
  EXPECT_EQ(plan->strategy, Strategy::kReducedBlocking);
  EXPECT_EQ(plan->deadline, std::chrono::seconds(20));
}

}  // namespace
}  // namespace forebay
