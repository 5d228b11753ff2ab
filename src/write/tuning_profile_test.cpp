// SPDX-License-Identifier: Apache-2.0
// Tuning profiles: documented texts are read, all others are refused with the line, and merges keep
// what other runs have measured.
#include "write/tuning_profile.hpp"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "base/testing.hpp"

namespace forebay::write {
namespace {

/// The first example of the page.
std::string example_of_page() {
  std::ifstream in(FOREBAY_SOURCE_DIR "/docs/formats/tuning-profile.md");
  std::stringstream page;
  page << in.rdbuf();
  const std::string text = page.str();
  const std::size_t first = text.find("```toml\n") + 8;
  return text.substr(first, text.find("```", first) - first);
}

TuningEntry entry_of(std::uint32_t ranks, std::vector<double> seconds) {
  TuningEntry entry{
      .scope = {.machine_hash = "7c", .ranks = ranks, .nodes = 2, .rank_bytes = 1_MiB},
      .plan = {.strategy = Strategy::kReducedBlocking, .writers = 4, .files = 2}};
  set_times(entry, seconds);
  entry.points.push_back({.plan = entry.plan, .predicted_s = 1, .seconds = std::move(seconds)});
  return entry;
}

TEST(TuningProfile, example_of_the_page_is_read_as_documented) {
  const auto profile = parse_tuning_profile(example_of_page(), "page");
  ASSERT_TRUE(profile) << profile.error().message();
  ASSERT_EQ(profile->entries.size(), 1U);
  const TuningEntry& entry = profile->entries.front();
  EXPECT_EQ(entry.scope, (TuningScope{"bigfs", "7c31b0f0a5d4e912", 1024, 64, 24_MiB, 1.2}));
  EXPECT_EQ(entry.median_s, 1.21);
  EXPECT_EQ(entry.spread, 0.14);
  EXPECT_EQ(entry.runs, 2U);
  EXPECT_EQ(entry.plan.writers, 128U);
  ASSERT_EQ(entry.points.size(), 2U);
  EXPECT_EQ(entry.points[0].plan, entry.plan);
  EXPECT_EQ(entry.points[1].seconds, std::vector{3.1});
  EXPECT_EQ(entry.points[1].failures, 1U);
}

TEST(TuningProfile, text_is_read_back_equal) {
  TuningProfile profile{.entries = {entry_of(8, {1, 1.5, 0.1}), entry_of(16, {1e-3})}};
  profile.entries[0].scope.machine = "a \"name\"";
  profile.entries[0].points.push_back(
      {.plan = {.strategy = Strategy::kBaton, .writers = 8, .files = 1}, .failures = 3});
  const auto read = parse_tuning_profile(to_toml(profile), "text");
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->entries, profile.entries);
}

TEST(TuningProfile, errors_name_the_line) {
  const auto refused = [](const std::string& text, const std::string& what) {
    const auto profile = parse_tuning_profile(text, "a.toml");
    ASSERT_EQ(error_class(profile), ErrorClass::kInvalidArgument) << text;
    EXPECT_TRUE(message_contains(profile.error(), what)) << profile.error().message();
    EXPECT_TRUE(message_contains(profile.error(), "read tuning profile a.toml"));
  };
  refused("format = 2", "line 1");
  refused("format = ", "line 1");
  refused("format = 1\nentry = 1", "the nearest one is \"entries\"");
  const std::string good = to_toml({.entries = {entry_of(8, {1})}});
  ASSERT_TRUE(parse_tuning_profile(good, "good"));
  const auto replaced = [&](const std::string& what, const std::string& by) {
    std::string text = good;
    return text.replace(text.find(what), what.size(), by);
  };
  refused(replaced("ranks = 8", ""), "ranks is missing");
  refused(replaced("ranks = 8", "ranks = 0"), "line 5: entries.ranks is 0");
  refused(replaced("nodes = 2", "nodes = 9"), "above entries.ranks");
  refused(replaced("rank_bytes = \"1 MiB\"", ""), "rank_bytes is missing");
  refused(replaced("imbalance = 1", "imbalance = 0.5"), "between 1 and 1000000");
  refused(replaced("median_s = 1", "median_s = 0"), "above 0");
  refused(replaced("median_s = 1", "median_s = nan"), "median_s");
  refused(replaced("strategy = \"reduced-blocking\"", ""), "plan needs strategy");
  refused(replaced("writers = 4", "writer = 4"), "writer");
  refused(replaced("writers = 4", "writers = \"many\""), "writers");
  refused(replaced("writers = 4", "writers = 0"), "writers");
  refused(replaced("\"reduced-blocking\"", "\"auto\""), "plan needs strategy");
  refused(replaced("\"reduced-blocking\"", "[1]"), "strategy");
  refused(replaced("writers = 4", "writers = 4\nunit_bytes = \"much\""), "unit_bytes");
  refused(replaced("writers = 4", "writers = 4\nexchange = [1]"), "exchange");
  refused(replaced("[entries.plan]", "[entries.plans]"), "plan is missing");
  refused(replaced("seconds = [1]", "seconds = [0]"), "seconds is not valid");
  refused(replaced("seconds = [1]", "seconds = [true]"), "seconds is not valid");
  refused(replaced("seconds = [1]", "seconds = []"), "add a number, or failures");
  refused(replaced("seconds = [1]", ""), "seconds is not valid");
}

TEST(SetTimes, has_median_and_spread_of_logarithms) {
  TuningEntry entry;
  set_times(entry, {4, 1});
  EXPECT_EQ(entry.median_s, 2.5);
  EXPECT_NEAR(entry.spread, std::log(2), 1e-12) << "of the population";
  set_times(entry, {3});
  EXPECT_EQ(entry.median_s, 3);
  EXPECT_EQ(entry.spread, 0);
}

TEST(IsComparable, separates_machines_sizes_and_imbalance) {
  const TuningScope one{.machine_hash = "a", .ranks = 8, .nodes = 1, .rank_bytes = 1_MiB};
  TuningScope other = one;
  other.rank_bytes = 1400_KiB;
  EXPECT_TRUE(is_comparable(one, other));
  other.rank_bytes = 1500_KiB;
  EXPECT_FALSE(is_comparable(one, other));
  other.rank_bytes = 0;
  EXPECT_TRUE(is_comparable(one, other));
  other = one;
  other.imbalance = 1.6;
  EXPECT_FALSE(is_comparable(one, other));
  other = one;
  other.machine_hash = "b";
  EXPECT_FALSE(is_comparable(one, other));
}

TEST(Merge, adds_seconds_to_equal_plans_and_counts_runs) {
  TuningProfile profile;
  merge(profile, entry_of(16, {5}));
  merge(profile, entry_of(8, {2, 2.2}));
  TuningEntry second = entry_of(8, {4});
  second.points.push_back(
      {.plan = {.strategy = Strategy::kBaton, .writers = 8, .files = 1}, .seconds = {9}});
  merge(profile, second);
  ASSERT_EQ(profile.entries.size(), 2U);
  const TuningEntry& merged = profile.entries.back();
  EXPECT_EQ(merged.runs, 2U);
  EXPECT_EQ(merged.points.front().seconds, (std::vector<double>{2, 2.2, 4}));
  EXPECT_EQ(merged.points.size(), 2U);
  EXPECT_EQ(merged.median_s, 2.2);
  for (int run = 0; run < 100; ++run)
    merge(profile, entry_of(8, {static_cast<double>(run + 1)}));
  EXPECT_EQ(profile.entries.back().points.front().seconds.size(), kTuningSecondsMax);
  EXPECT_EQ(profile.entries.back().points.front().seconds.back(), 100);
}

TEST(Merge, equal_plan_is_preferred_to_one_with_an_open_exchange) {
  TuningProfile profile;
  TuningEntry entry = entry_of(8, {2});
  const auto add = [&](std::optional<Exchange> exchange, double seconds) {
    entry.points.front().plan.tuning.exchange = exchange;
    entry.points.front().seconds = {seconds};
    merge(profile, entry);
  };
  add(Exchange::kMessage, 1);
  add(Exchange::kSharedMemory, 2);
  add(std::nullopt, 3);
  add(Exchange::kSharedMemory, 4);
  const std::vector<TuningPoint>& points = profile.entries.front().points;
  ASSERT_EQ(points.size(), 2U);
  EXPECT_EQ(points[0].seconds, (std::vector<double>{1, 3}));
  EXPECT_EQ(points[1].seconds, (std::vector<double>{2, 4}));
}

TEST(Merge, entry_is_the_last_one_and_others_stay) {
  TuningProfile profile;
  for (const std::uint32_t ranks : {8U, 16U, 8U})
    merge(profile, entry_of(ranks, {2}));
  ASSERT_EQ(profile.entries.size(), 2U);
  EXPECT_EQ(profile.entries.front(), entry_of(16, {2}));
}

TEST(Merge, point_without_new_times_keeps_times_and_failures) {
  TuningEntry first = entry_of(8, {2});
  first.points.push_back({.plan = {.strategy = Strategy::kBaton, .writers = 8, .files = 1},
                          .seconds = {9},
                          .failures = 1});
  TuningProfile profile;
  merge(profile, first);
  merge(profile, entry_of(8, {3}));
  EXPECT_EQ(profile.entries.front().points.back(), first.points.back());
}

TEST(Merge, scales_earlier_seconds_to_the_new_size) {
  TuningProfile profile;
  TuningEntry smaller = entry_of(8, {2});
  smaller.points.push_back({.plan = {.strategy = Strategy::kBaton, .writers = 8, .files = 1},
                            .predicted_s = 4,
                            .failures = 1});
  merge(profile, smaller);
  TuningEntry larger = entry_of(8, {3});
  larger.scope.rank_bytes = 1280_KiB;
  merge(profile, larger);
  EXPECT_EQ(profile.entries.front().points.front().seconds, (std::vector<double>{2.5, 3}));
  EXPECT_EQ(profile.entries.front().median_s, 2.75);
  EXPECT_EQ(profile.entries.front().points.front().predicted_s, 1);
  EXPECT_EQ(profile.entries.front().points.back().predicted_s, 5);
}

TEST(Merge, plan_with_an_implied_exchange_is_the_same_plan) {
  TuningEntry searched = entry_of(8, {2});
  searched.points.front().plan.tuning.exchange = Exchange::kNone;
  TuningProfile profile;
  merge(profile, searched);
  merge(profile, entry_of(8, {4}));
  ASSERT_EQ(profile.entries.front().points.size(), 1U);
  EXPECT_EQ(profile.entries.front().median_s, 3);
}

TEST(Merge, plan_that_leaves_the_exchange_open_is_the_same_plan) {
  TuningEntry named = entry_of(8, {4});
  named.plan.tuning.exchange = named.points.front().plan.tuning.exchange = Exchange::kMessage;
  TuningProfile profile;
  merge(profile, entry_of(8, {2}));
  merge(profile, named);
  ASSERT_EQ(profile.entries.front().points.size(), 1U);
  EXPECT_EQ(profile.entries.front().points.front().plan, named.plan) << "the newer one";
  EXPECT_EQ(profile.entries.front().median_s, 3);
  named.plan.tuning.exchange = named.points.front().plan.tuning.exchange = Exchange::kSharedMemory;
  merge(profile, named);
  EXPECT_EQ(profile.entries.front().points.size(), 2U);
}

TEST(TunedValues, have_an_exchange_that_other_values_do_not_imply) {
  WritePlan plan{.strategy = Strategy::kReducedBlocking, .writers = 4, .files = 2};
  plan.tuning.exchange = Exchange::kMessage;
  EXPECT_EQ(tuned_values(plan).tuning.exchange, Exchange::kMessage);
  plan.tuning.exchange = Exchange::kNone;
  EXPECT_FALSE(tuned_values(plan).tuning.exchange);
}

TEST(UpdateTuningProfile, entry_that_cannot_be_read_leaves_the_file_unchanged) {
  const TemporaryDirectory directory;
  const std::string path = directory / "app.tuning.toml";
  ASSERT_TRUE(update_tuning_profile(path, {entry_of(8, {1})}));
  TuningEntry invalid = entry_of(16, {1});
  invalid.scope.rank_bytes = 0;
  EXPECT_EQ(error_class(update_tuning_profile(path, {invalid})), ErrorClass::kInvalidArgument);
  EXPECT_EQ((*load_tuning_profile(path))->entries.size(), 1U);
}

TEST(UpdateTuningProfile, creates_the_file_and_keeps_other_entries) {
  const TemporaryDirectory directory;
  const std::string path = directory / "app.tuning.toml";
  const auto missing = load_tuning_profile(path);
  ASSERT_TRUE(missing);
  EXPECT_FALSE(*missing);
  ASSERT_TRUE(update_tuning_profile(path, {entry_of(8, {1})}));
  ASSERT_TRUE(update_tuning_profile(path, {entry_of(16, {2})}));
  const auto profile = load_tuning_profile(path);
  ASSERT_TRUE(profile);
  ASSERT_TRUE(*profile);
  EXPECT_EQ((*profile)->entries.size(), 2U);
}

TEST(UpdateTuningProfile, invalid_file_is_unchanged) {
  const TemporaryDirectory directory;
  const std::string path = directory / "app.tuning.toml";
  std::ofstream(path) << "format = 2\n";
  EXPECT_FALSE(update_tuning_profile(path, {entry_of(8, {1})}));
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  EXPECT_EQ(line, "format = 2");
}

}  // namespace
}  // namespace forebay::write
