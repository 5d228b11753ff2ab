// SPDX-License-Identifier: Apache-2.0
#include "bench/pfs/auto_plans.hpp"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace forebay::bench::pfs {
namespace {

using testing::ElementsAre;

TEST(AutoPlans, one_rank_has_all_splinters_requests_and_depths) {
  const auto plans = plans_to_sweep(1);
  EXPECT_EQ(plans.size(), 18U) << "six pairs of sizes, three depths";
  std::set<std::string> texts;
  for (const read::PlanOverrides& plan : plans) {
    EXPECT_FALSE(plan.agents.has_value());
    EXPECT_LE(plan.request_bytes, plan.splinter_bytes);
    texts.insert(text_of(plan));
  }
  EXPECT_EQ(texts.size(), plans.size()) << "no plan twice";
}

TEST(AutoPlans, ranks_that_share_a_node_have_each_plan_with_both_agents) {
  const auto plans = plans_to_sweep(2);
  EXPECT_EQ(plans.size(), 2 * plans_to_sweep(1).size());
  std::size_t per_node = 0;
  for (const read::PlanOverrides& plan : plans)
    per_node += plan.agents == AgentScope::kPerNode ? 1 : 0;
  EXPECT_EQ(per_node, plans.size() / 2);
}

TEST(AutoPlans, windows_have_room_for_twice_the_bytes_in_flight) {
  for (const read::PlanOverrides& plan : plans_to_sweep(2)) {
    EXPECT_GE(plan.window_bytes, 2 * plan.request_bytes * plan.queue_depth) << text_of(plan);
    EXPECT_GE(plan.window_bytes, 2 * plan.splinter_bytes) << text_of(plan);
  }
}

TEST(AutoPlans, text_of_a_plan) {
  EXPECT_EQ(text_of({.agents = AgentScope::kPerNode,
                     .splinter_bytes = 1_MiB,
                     .request_bytes = 256_KiB,
                     .queue_depth = 16}),
            "per node, splinters of 1 MiB, 16 requests of 256 KiB");
}

TEST(AutoPlans, fastest_are_in_order) {
  const std::vector<double> seconds = {5, 1, 4, 1.5, 9};
  EXPECT_THAT(fastest(seconds, 3), ElementsAre(1, 3, 2));
  EXPECT_THAT(fastest(seconds, 9), ElementsAre(1, 3, 2, 0, 4));
}

TEST(AutoPlans, ours_is_compared_with_the_fastest_of_each_round) {
  const std::vector<double> ours = {2, 3, 4};
  const Summary over = over_fastest(ours, {{1, 6, 8}, {4, 2, 4}});
  EXPECT_DOUBLE_EQ(over.median, 1.5);
  EXPECT_DOUBLE_EQ(over.low, 1);
  EXPECT_DOUBLE_EQ(over.high, 2);
}

}  // namespace
}  // namespace forebay::bench::pfs
