// SPDX-License-Identifier: Apache-2.0
// Rows about memory of strategies, from simulated outcomes.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/checkpoint/cases.hpp"
#include "bench/checkpoint/forebay_rows.hpp"

namespace forebay::bench::checkpoint {
namespace {

const Case kMemory{.id = std::string(kMemoryCase), .writers = 8, .scope = Scope::kMemory};

void add(Samples& samples, const std::string& name, const std::vector<TrialResult>& all) {
  for (const TrialResult& one : all)
    samples.add(kMemory, name, one);
}

TEST(MemoryRows, worst_use_of_a_plans_memory_counts) {
  Samples samples;
  add(samples, "forebay:serial", {{.staging_over_plan = 0.5}, {.staging_over_plan = 0.5}});
  add(samples, "forebay:gather", {{.staging_over_plan = 1.25}, {.staging_over_plan = 1.25}});
  const auto row = memory_over_plan(samples);
  ASSERT_TRUE(row) << row.error();
  EXPECT_DOUBLE_EQ(row->measured.median, 1.25);
  EXPECT_FALSE(is_goal_met(row->measured, *row->goal));
  EXPECT_EQ(row->peers.size(), 2U);
}

TEST(MemoryRows, plans_with_given_memory_count) {
  Samples samples;
  add(samples, "forebay:brigade", {{.staging_over_plan = 0.5}});
  add(samples, "forebay:brigade,16-mib", {{.staging_over_plan = 3.0}});
  const auto row = memory_over_plan(samples);
  ASSERT_TRUE(row) << row.error();
  EXPECT_DOUBLE_EQ(row->measured.median, 3.0);
}

TEST(MemoryRows, chain_is_compared_with_gathering_writer_in_each_round) {
  Samples samples;
  const double mib = 1024.0 * 1024.0;
  add(samples, "forebay:brigade",
      {{.memory_sum_bytes = 6, .staging_bytes = 3 * mib},
       {.memory_sum_bytes = 60, .staging_bytes = 30 * mib}});
  add(samples, "forebay:gather,whole",
      {{.memory_sum_bytes = 8, .staging_bytes = 6 * mib},
       {.memory_sum_bytes = 80, .staging_bytes = 60 * mib}});
  const auto row = brigade_memory(samples);
  ASSERT_TRUE(row) << row.error();
  EXPECT_DOUBLE_EQ(row->measured.low, 0.5);
  EXPECT_DOUBLE_EQ(row->measured.high, 0.5);
  ASSERT_EQ(row->peers.size(), 3U);
  EXPECT_DOUBLE_EQ(row->peers[0].measured.median, 0.75) << "resident memory";
  EXPECT_EQ(row->peers[1].unit, "MiB");
  EXPECT_DOUBLE_EQ(row->peers[1].measured.high, 30);
}

TEST(MemoryRows, error_names_the_missing_candidate) {
  Samples samples;
  EXPECT_EQ(memory_over_plan(samples).error(), std::string(kMemoryCase) + " was not measured");
  add(samples, "forebay:gather,whole", {{.staging_bytes = 1}});
  EXPECT_EQ(brigade_memory(samples).error(), "no candidate named forebay:brigade");
  samples.remove(kMemory, "forebay:gather,whole");
  add(samples, "forebay:brigade", {{.staging_bytes = 1}});
  EXPECT_EQ(brigade_memory(samples).error(), "no candidate named forebay:gather,whole");
}

TEST(Cases, restarts_have_a_step_for_each_round_and_no_more_bytes) {
  for (const Case& bench_case : all_cases()) {
    for (const std::uint64_t payload_bytes : {16_MiB, 1_GiB, 8_GiB}) {
      const std::uint64_t step_bytes = step_bytes_of(bench_case, payload_bytes);
      EXPECT_LE(step_bytes * bench_case.steps, payload_bytes) << bench_case.id;
      EXPECT_EQ(step_bytes % 1_MiB, 0U) << bench_case.id;
    }
    if (bench_case.readers > 0) {
      EXPECT_GT(bench_case.steps, kRounds) << bench_case.id;
    }
  }
}

TEST(Cases, fastest_variant_of_file_per_process_is_compared) {
  const auto& goals = all_goals();
  const auto over_fpp = std::find_if(goals.begin(), goals.end(), [](const GoalRow& goal) {
    return goal.id == "ckpt.durable.over_fpp";
  });
  ASSERT_NE(over_fpp, goals.end());
  Samples samples;
  for (const Case& bench_case : over_fpp->cases) {
    samples.add(bench_case, "forebay:chosen", {.durable_s = 1.0, .payload_bytes = 1e6});
    samples.add(bench_case, "fpp:direct", {.durable_s = 2.0, .payload_bytes = 1e6});
    samples.add(bench_case, "fpp:page-cache", {.durable_s = 0.5, .payload_bytes = 1e6});
  }
  const auto row = compare(*over_fpp, samples);
  ASSERT_TRUE(row) << row.error();
  EXPECT_DOUBLE_EQ(row->measured.median, 0.5);
}

TEST(Cases, memory_cases_have_no_speed_goals) {
  for (const GoalRow& goal : all_goals())
    for (const Case& bench_case : goal.cases)
      EXPECT_EQ(bench_case.scope, Scope::kEverywhere) << goal.id;
}

}  // namespace
}  // namespace forebay::bench::checkpoint
