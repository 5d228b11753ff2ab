// SPDX-License-Identifier: Apache-2.0
// From samples to metrics and rows, with simulated outcomes.
#include "bench/checkpoint/samples.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace forebay::bench::checkpoint {
namespace {

const Case kWriting{.id = "w", .writers = 4, .steps = 4};
const Case kUneven{.id = "u", .writers = 4, .sizes = SizeDistribution::kExponential, .steps = 4};
const Case kReading{.id = "r", .writers = 8, .readers = 3, .steps = 4};
const Case kComputing{.id = "c", .writers = 2, .compute_kind = ComputeKind::kCpu, .steps = 4};

/// 100 MB, durable after `seconds`.
TrialResult durable_after(double seconds) {
  return {.blocked_s = seconds / 2,
          .computing_s = seconds,
          .fill_s = seconds / 8,
          .total_s = seconds / 2,
          .durable_s = seconds,
          .payload_bytes = 1e8};
}

void add(Samples& samples,
         const Case& bench_case,
         const std::string& name,
         const std::vector<double>& seconds) {
  for (const double one : seconds)
    samples.add(bench_case, name, durable_after(one));
}

TEST(Samples, metrics_follow_from_times) {
  Samples samples;
  add(samples, kWriting, "fpp:direct", {2.0, 4.0, 1.0});
  const auto metrics = metrics_json(kWriting, samples.get("w", "fpp:direct"), {});
  EXPECT_DOUBLE_EQ(metrics["durable_mb_s"]["value"], 50);
  EXPECT_DOUBLE_EQ(metrics["perceived_mb_s"]["value"], 100);
  EXPECT_DOUBLE_EQ(metrics["drain_s"]["value"], 1.0);
  EXPECT_DOUBLE_EQ(metrics["interval_s"]["value"], 0.5);
  EXPECT_DOUBLE_EQ(metrics["fill_s"]["value"], 0.25);
  EXPECT_DOUBLE_EQ(metrics["overhead"]["value"], 1.0);
  EXPECT_DOUBLE_EQ(metrics["durable_mb_s"]["spread"][0], 25);
  EXPECT_FALSE(metrics.contains("computing_over_alone"));
}

TEST(Samples, computation_is_compared_within_a_round) {
  Samples samples;
  add(samples, kComputing, "shared", {3.0, 6.0});
  add(samples, kComputing, std::string(kComputeOnly), {2.0, 4.0});
  const auto metrics =
      metrics_json(kComputing, samples.get("c", "shared"), samples.get("c", kComputeOnly));
  EXPECT_DOUBLE_EQ(metrics["computing_over_alone"]["value"], 1.5);
  EXPECT_FALSE(metrics.contains("durable_mb_s")) << "the application computes meanwhile";
  EXPECT_THAT(samples.names("c"), testing::ElementsAre("shared"));
}

TEST(Samples, restart_has_only_its_bandwidth) {
  Samples samples;
  add(samples, kReading, "fpp:direct", {2.0});
  const auto metrics = metrics_json(kReading, samples.get("r", "fpp:direct"), {});
  EXPECT_EQ(metrics.size(), 1U);
  EXPECT_DOUBLE_EQ(metrics["restart_mb_s"]["value"], 100);
}

TEST(Rows, case_row_has_the_best_and_all_as_peers) {
  Samples samples;
  add(samples, kWriting, "fpp:direct", {2.0});
  add(samples, kWriting, "shared", {4.0});
  add(samples, kWriting, std::string(kFio), {1.0});
  const auto row = row_of_case(kWriting, samples);
  ASSERT_TRUE(row);
  EXPECT_DOUBLE_EQ(row->measured.median, 50) << "fio is not a candidate";
  EXPECT_EQ(row->peers.size(), 3U);
  EXPECT_FALSE(row_of_case(kUneven, samples));
}

TEST(Rows, case_with_computation_has_time_over_computing_alone) {
  Samples samples;
  add(samples, kComputing, "shared", {3.0});
  add(samples, kComputing, "fpp:direct", {2.0});
  add(samples, kComputing, std::string(kComputeOnly), {2.0});
  const auto row = row_of_case(kComputing, samples);
  ASSERT_TRUE(row);
  EXPECT_EQ(row->unit, "1");
  EXPECT_DOUBLE_EQ(row->measured.median, 2.0) << "an application alone ends after one second";
  EXPECT_EQ(row->peers.size(), 2U);
}

TEST(Goals, take_the_worst_case_and_the_best_variant_of_each) {
  Samples samples;
  add(samples, kWriting, "forebay:slow", {4.0});
  add(samples, kWriting, "forebay:fast", {1.0});
  add(samples, kWriting, "hdf5:independent", {3.0});
  add(samples, kWriting, "hdf5:collective", {2.0});
  add(samples, kUneven, "forebay:slow", {2.0});
  add(samples, kUneven, "hdf5:collective", {3.0});
  const GoalRow goal{"over_hdf5", "hdf5", 1.5, {kWriting, kUneven}};
  const auto row = compare(goal, samples);
  ASSERT_TRUE(row) << row.error();
  EXPECT_DOUBLE_EQ(row->measured.median, 1.5);
  EXPECT_TRUE(is_goal_met(row->measured, *row->goal));
  EXPECT_EQ(row->peers.front().name, "forebay:slow in u");
}

TEST(Goals, automatic_plan_is_a_peer) {
  Samples samples;
  add(samples, kWriting, "forebay:chosen", {2.0});
  add(samples, kWriting, "forebay:fast", {1.0});
  add(samples, kWriting, "hdf5:collective", {2.0});
  add(samples, kUneven, "forebay:chosen", {4.0});
  add(samples, kUneven, "forebay:fast", {1.0});
  add(samples, kUneven, "hdf5:collective", {3.0});
  const auto row = compare({"over_hdf5", "hdf5", 1.5, {kWriting, kUneven}}, samples);
  ASSERT_TRUE(row) << row.error();
  EXPECT_DOUBLE_EQ(row->measured.median, 2.0);
  EXPECT_EQ(row->peers.back().name, "ratio of forebay:chosen in u");
  EXPECT_DOUBLE_EQ(row->peers.back().measured.median, 0.75);
}

TEST(Goals, ratios_are_taken_within_a_round) {
  Samples samples;
  add(samples, kWriting, "forebay", {1.0, 10.0, 3.0});
  add(samples, kWriting, "fpp:direct", {2.0, 20.0, 6.0});
  const auto row = compare({"over_fpp", "fpp:direct", 1.0, {kWriting}}, samples);
  ASSERT_TRUE(row);
  EXPECT_DOUBLE_EQ(row->measured.low, 2.0);
  EXPECT_DOUBLE_EQ(row->measured.high, 2.0);
}

TEST(Goals, error_has_the_reason_of_a_missing_row) {
  Samples samples;
  const GoalRow goal{"over_hdf5", "hdf5", 1.5, {kWriting}};
  EXPECT_EQ(compare(goal, samples).error(), "w was not measured");
  add(samples, kWriting, "hdf5:collective", {1.0});
  EXPECT_EQ(compare(goal, samples).error(), "no candidate named forebay in w");
  samples.remove(kWriting, "hdf5:collective");
  add(samples, kWriting, "forebay", {1.0});
  EXPECT_EQ(compare(goal, samples).error(), "no candidate named hdf5 in w");
}

}  // namespace
}  // namespace forebay::bench::checkpoint
