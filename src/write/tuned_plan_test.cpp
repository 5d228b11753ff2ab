// SPDX-License-Identifier: Apache-2.0
// Plans of a tuning profile: same scale, interpolation, and what does not apply.
#include "write/tuned_plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/machine_text.hpp"

namespace forebay::write {
namespace {

using ::testing::HasSubstr;

TuningEntry tuned_entry(std::uint32_t ranks, std::uint32_t writers, std::uint32_t files) {
  return {.scope = {.ranks = ranks, .nodes = 4, .rank_bytes = 1_MiB},
          .median_s = 1.5,
          .plan = {.strategy = Strategy::kReducedBlocking, .writers = writers, .files = files}};
}

TuningScope scope_with(std::uint32_t ranks) {
  return {.ranks = ranks, .nodes = 4, .rank_bytes = 1_MiB};
}

WriteFacts facts_with(std::uint32_t ranks) {
  WriteFacts facts{.step_bytes = {1_MiB}};
  for (std::uint32_t rank = 0; rank < ranks; ++rank)
    facts.rank_layout.node_of_compute_rank.push_back(rank * 4 / ranks);
  return facts;
}

TEST(FindTunedPlan, same_scale_has_its_plan_with_high_confidence) {
  const TuningProfile profile{{tuned_entry(64, 8, 2), tuned_entry(128, 9, 9)}};
  const auto tuned = find_tuned_plan(profile, scope_with(64));
  ASSERT_TRUE(tuned);
  EXPECT_EQ(tuned->plan.writers, 8U);
  EXPECT_EQ(tuned->plan.files, 2U);
  EXPECT_EQ(tuned->confidence, Confidence::kHigh);
  EXPECT_EQ(tuned->reason, "tuned at 64 ranks to 1.5 s a step, high confidence");
}

TEST(PlanByProfile, has_the_access_of_the_profile_unless_it_is_requested) {
  TuningProfile profile{{tuned_entry(64, 8, 2)}};
  profile.entries.front().plan.tuning.access = Access::kBuffered;
  const auto parsed = parse_tuning_profile(to_toml(profile), "test");
  ASSERT_TRUE(parsed) << parsed.error().message();
  const auto open = plan_by_profile(*parsed, facts_with(64), {});
  const auto set =
      plan_by_profile(*parsed, facts_with(64), {.tuning = {.access = Access::kDirect}});
  ASSERT_TRUE(open && set);
  EXPECT_EQ(open->tuning.access, Access::kBuffered);
  EXPECT_EQ(set->tuning.access, Access::kDirect);
}

TEST(FindTunedPlan, interpolates_shares_between_two_scales) {
  const TuningProfile profile{{tuned_entry(64, 16, 16), tuned_entry(1024, 64, 4)}};
  // Writers: a quarter and a sixteenth of the ranks; files: all and a sixteenth of the writers.
  const auto tuned = find_tuned_plan(profile, scope_with(256));
  ASSERT_TRUE(tuned);
  EXPECT_EQ(tuned->plan.writers, 32U);
  EXPECT_EQ(tuned->plan.files, 8U);
  EXPECT_EQ(tuned->confidence, Confidence::kLow);
}

TEST(FindTunedPlan, beyond_the_scales_keeps_the_nearest_shares) {
  const TuningProfile profile{{tuned_entry(64, 16, 4)}};
  const auto twice = find_tuned_plan(profile, scope_with(128));
  ASSERT_TRUE(twice);
  EXPECT_EQ(twice->plan.writers, 32U);
  EXPECT_EQ(twice->plan.files, 8U);
  EXPECT_EQ(twice->confidence, Confidence::kMedium);
  const auto eighth = find_tuned_plan(profile, scope_with(8));
  ASSERT_TRUE(eighth);
  EXPECT_EQ(eighth->plan.writers, 2U);
  EXPECT_EQ(eighth->confidence, Confidence::kLow);
  EXPECT_FALSE(find_tuned_plan(profile, scope_with(7)));
  EXPECT_FALSE(find_tuned_plan(profile, scope_with(520)));
}

TEST(FindTunedPlan, different_strategies_are_not_mixed) {
  TuningProfile profile{{tuned_entry(64, 16, 16), tuned_entry(1024, 64, 4)}};
  profile.entries[1].plan.strategy = Strategy::kBrigade;
  const auto tuned = find_tuned_plan(profile, scope_with(128));
  ASSERT_TRUE(tuned);
  EXPECT_EQ(tuned->plan.strategy, Strategy::kReducedBlocking);
  EXPECT_EQ(tuned->plan.writers, 32U);
}

TEST(FindTunedPlan, other_nodes_or_unknown_size_lower_the_confidence) {
  const TuningProfile profile{{tuned_entry(64, 8, 2)}};
  TuningScope scope = scope_with(64);
  scope.nodes = 8;
  EXPECT_EQ(find_tuned_plan(profile, scope)->confidence, Confidence::kMedium);
  scope.rank_bytes = 0;
  EXPECT_EQ(find_tuned_plan(profile, scope)->confidence, Confidence::kLow);
}

TEST(FindTunedPlan, other_machine_does_not_apply) {
  const TuningProfile profile{{tuned_entry(64, 8, 2)}};
  TuningScope scope = scope_with(64);
  scope.machine_hash = "7c";
  EXPECT_FALSE(find_tuned_plan(profile, scope));
}

TEST(ScopeOf, has_mean_imbalance_and_the_hash_of_numbers) {
  WriteFacts facts = facts_with(4);
  facts.step_bytes = {1_MiB, 1_MiB, 1_MiB, 5_MiB};
  model::Machine machine{.name = "one", .servers = {{.count = 2}}};
  facts.machine = &machine;
  const TuningScope scope = scope_of(facts);
  EXPECT_EQ(scope.rank_bytes, 2_MiB);
  EXPECT_EQ(scope.imbalance, 2.5);
  EXPECT_EQ(scope.nodes, 4U);
  machine.name = "two";
  EXPECT_EQ(scope_of(facts).machine_hash, scope.machine_hash);
  machine.servers.front().count = 3;
  EXPECT_NE(scope_of(facts).machine_hash, scope.machine_hash);
  EXPECT_EQ(scope.machine_hash.size(), 16U);
  facts.step_bytes = {1, 0, 0, 0};
  EXPECT_EQ(scope_of(facts).rank_bytes, 1U) << "0 would be an unknown size";
}

TEST(PlanByProfile, sets_open_values_and_states_the_source) {
  const TuningProfile profile{{tuned_entry(64, 8, 2)}};
  const auto plan = plan_by_profile(profile, facts_with(64), {.files = 4});
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->writers, 8U);
  EXPECT_EQ(plan->files, 4U);
  EXPECT_THAT(plan->reason, HasSubstr("tuned at 64 ranks to 1.5 s a step, high confidence"));
  EXPECT_GT(plan->memory_bytes, 0U);
}

TEST(PlanByProfile, has_the_measured_exchange) {
  TuningProfile profile{{tuned_entry(64, 8, 2)}};
  const auto usual = plan_by_profile(profile, facts_with(64), {});
  ASSERT_TRUE(usual);
  ASSERT_EQ(usual->tuning.exchange, Exchange::kSharedMemory);
  profile.entries.front().plan.tuning.exchange = Exchange::kMessage;
  const auto plan = plan_by_profile(profile, facts_with(64), {});
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->tuning.exchange, Exchange::kMessage);
}

TEST(PlanByProfile, values_that_do_not_fit_are_not_used) {
  const TuningProfile profile{{tuned_entry(64, 8, 2)}};
  EXPECT_FALSE(plan_by_profile(profile, facts_with(64), {.strategy = Strategy::kBrigade}));
  EXPECT_FALSE(plan_by_profile(profile, facts_with(64), {.files = 16}));
  EXPECT_FALSE(plan_by_profile({}, facts_with(64), {}));
}

}  // namespace
}  // namespace forebay::write
