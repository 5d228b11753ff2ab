// SPDX-License-Identifier: Apache-2.0
// Numbers that can be checked by hand, and the pairing of rounds.
#include "bench/frame/statistics.hpp"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/frame/rounds.hpp"

namespace forebay::bench {
namespace {

using testing::ElementsAre;

TEST(Quantile, interpolates_between_adjacent_samples) {
  const std::vector<double> sorted = {1, 2, 3, 4};
  EXPECT_DOUBLE_EQ(quantile(sorted, 0), 1);
  EXPECT_DOUBLE_EQ(quantile(sorted, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(quantile(sorted, 0.25), 1.75);
  EXPECT_DOUBLE_EQ(quantile(sorted, 1), 4);
}

TEST(Quantile, of_one_sample_is_that_sample) {
  EXPECT_DOUBLE_EQ(quantile(std::vector<double>{7}, 0.3), 7);
}

TEST(Summarize, few_samples_have_a_range_from_smallest_to_largest) {
  const Summary summary = summarize({5, 1, 4, 100, 2});
  EXPECT_DOUBLE_EQ(summary.median, 4);
  EXPECT_DOUBLE_EQ(summary.low, 1);
  EXPECT_DOUBLE_EQ(summary.high, 100);
  EXPECT_EQ(summary.runs, 5U);
  EXPECT_EQ(summary.spread, SpreadKind::kRange);
}

TEST(Summarize, nine_samples_have_quartiles) {
  const Summary summary = summarize({9, 8, 7, 6, 5, 4, 3, 2, 1});
  EXPECT_DOUBLE_EQ(summary.median, 5);
  EXPECT_DOUBLE_EQ(summary.low, 3);
  EXPECT_DOUBLE_EQ(summary.high, 7);
  EXPECT_EQ(summary.spread, SpreadKind::kQuartiles);
}

TEST(SummarizeDeathTest, no_samples_and_infinite_ones_are_bugs) {
  EXPECT_DEATH(summarize({}), "empty");
  EXPECT_DEATH(summarize({1.0 / 0.0}), "isfinite");
}

TEST(OrderOfRound, two_variants_alternate_in_pairs) {
  EXPECT_THAT(order_of_round(0, 2), ElementsAre(0, 1));
  EXPECT_THAT(order_of_round(1, 2), ElementsAre(1, 0));
  EXPECT_THAT(order_of_round(2, 2), ElementsAre(1, 0));
  EXPECT_THAT(order_of_round(3, 2), ElementsAre(0, 1));
}

TEST(OrderOfRound, every_variant_has_every_position_equally_often) {
  for (std::size_t count = 1; count <= 5; ++count) {
    std::vector<std::vector<std::size_t>> at_place(count, std::vector<std::size_t>(count));
    for (std::size_t round = 0; round < 2 * count; ++round) {
      const auto order = order_of_round(round, count);
      EXPECT_EQ(std::set<std::size_t>(order.begin(), order.end()).size(), count);
      for (std::size_t place = 0; place < count; ++place)
        ++at_place[place][order[place]];
    }
    for (const auto& counts : at_place)
      EXPECT_THAT(counts, testing::Each(2U));
  }
}

Variant scripted(const std::string& name, const std::vector<double>& values) {
  auto next = std::make_shared<std::size_t>(0);
  return {name, {}, [next, values]() -> Result<double> { return values.at((*next)++); }};
}

TEST(RunRounds, pairs_values_of_one_round_and_drops_the_warm_up) {
  const auto rounds = run_rounds({scripted("a", {99, 2, 6, 3}), scripted("b", {1, 1, 2, 3})},
                                 {.rounds = 3, .warm_ups = 1, .on_progress = {}});
  ASSERT_TRUE(rounds);
  EXPECT_THAT(rounds->values("a"), ElementsAre(2, 6, 3));
  EXPECT_DOUBLE_EQ(rounds->ratio("a", "b").median, 2);
  EXPECT_DOUBLE_EQ(rounds->ratio("a", "b").low, 1);
  EXPECT_DOUBLE_EQ(rounds->ratio("a", "b").high, 3);
  EXPECT_DOUBLE_EQ(rounds->difference("a", "b").median, 1);
}

TEST(RunRounds, reports_progress_of_every_measurement) {
  std::vector<std::size_t> done;
  const auto note = [&done](std::size_t now, std::size_t total) {
    EXPECT_EQ(total, 6U);
    done.push_back(now);
  };
  ASSERT_TRUE(run_rounds({scripted("a", {1, 1, 1}), scripted("b", {1, 1, 1})}, {2, 1, note}));
  EXPECT_THAT(done, ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(RunRounds, prepares_before_each_measurement_and_stops_at_a_failure) {
  int prepared = 0;
  Variant variant = scripted("dropper", {1, 1, 1});
  variant.prepare = [&prepared]() -> Status {
    if (++prepared < 3) return {};
    return failure({.kind = ErrorClass::kUnsupported, .operation = "drop", .path = "/f"});
  };
  const auto rounds = run_rounds({variant}, {.rounds = 5, .warm_ups = 0, .on_progress = {}});
  ASSERT_FALSE(rounds);
  EXPECT_EQ(prepared, 3);
  EXPECT_EQ(rounds.error().operation(), "dropper: drop");
  EXPECT_EQ(rounds.error().path(), "/f");
}

}  // namespace
}  // namespace forebay::bench
