// SPDX-License-Identifier: Apache-2.0
// Candidates of the sessions of a loop: which values are tried, and which never change.
#include "runtime/read_candidates.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace forebay {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

ReadFacts job_facts(std::uint32_t ranks_on_node, std::uint32_t linked_nodes) {
  return {.extent = {0, 64_MiB},
          .access = Access::kBuffered,
          .is_cached = true,
          .alignment_bytes = 4096,
          .available_bytes = 1_GiB,
          .total_bytes = 1_GiB,
          .ranks_on_node = ranks_on_node,
          .linked_nodes = linked_nodes};
}

template <class T>
std::set<T> distinct_values(const std::vector<ReadCandidate>& candidates,
                            T ReadCandidate::* value) {
  std::set<T> values;
  for (const ReadCandidate& one : candidates)
    values.insert(one.*value);
  return values;
}

void expect_complete(const ReadFacts& facts, const ReadPlan& requested) {
  for (const ReadCandidate& one : read_candidates(facts, requested)) {
    const ReadPlan tried = plan_with(one, requested, facts.linked_nodes);
    const auto complete = plan_read(facts, tried);
    ASSERT_TRUE(complete) << complete.error().message();
    if (one.agent_scope) {
      EXPECT_EQ(complete->tuning.agent_scope, one.agent_scope);
    }
    EXPECT_EQ(complete->tuning.splinter_bytes, one.splinter_bytes);
    EXPECT_EQ(complete->tuning.request_bytes, one.request_bytes);
    EXPECT_EQ(complete->tuning.queue_depth, one.queue_depth);
  }
}

TEST(ReadCandidates, first_candidate_is_the_default) {
  for (const std::uint32_t nodes : {1U, 5U}) {
    const ReadFacts facts = job_facts(4, nodes);
    const ReadCandidate first = read_candidates(facts, {}).front();
    const ReadTuning usual = plan_read(facts)->tuning;
    EXPECT_EQ(first.request_bytes, usual.request_bytes);
    EXPECT_EQ(first.queue_depth, usual.queue_depth);
    EXPECT_EQ(first.splinter_bytes, usual.splinter_bytes);
    EXPECT_EQ(first.agent_scope, std::nullopt) << "that of each node";
    EXPECT_EQ(first.agent_node_count, 0U);
  }
}

TEST(ReadCandidates, rank_alone_varies_sizes_and_depth_only) {
  const auto candidates = read_candidates(job_facts(1, 1), {});
  EXPECT_GT(distinct_values(candidates, &ReadCandidate::request_bytes).size(), 1U);
  EXPECT_GT(distinct_values(candidates, &ReadCandidate::queue_depth).size(), 1U);
  EXPECT_GT(distinct_values(candidates, &ReadCandidate::splinter_bytes).size(), 1U);
  EXPECT_THAT(distinct_values(candidates, &ReadCandidate::agent_scope), ElementsAre(std::nullopt));
  EXPECT_THAT(distinct_values(candidates, &ReadCandidate::agent_node_count), ElementsAre(0U));
}

TEST(ReadCandidates, ranks_of_a_node_try_the_scope_that_is_not_usual) {
  for (const auto& [access, other] : {std::pair(Access::kBuffered, AgentScope::kPerNode),
                                      std::pair(Access::kDirect, AgentScope::kPerRank)}) {
    const auto candidates = read_candidates(job_facts(4, 1), {.access = access});
    EXPECT_THAT(distinct_values(candidates, &ReadCandidate::agent_scope),
                ElementsAre(std::nullopt, std::optional(other)));
    EXPECT_THAT(distinct_values(candidates, &ReadCandidate::agent_node_count), ElementsAre(0U));
  }
}

TEST(ReadCandidates, several_nodes_try_fewer_readers) {
  EXPECT_THAT(
      distinct_values(read_candidates(job_facts(2, 8), {}), &ReadCandidate::agent_node_count),
      ElementsAre(0U, 1U, 2U, 4U, 8U));
  EXPECT_THAT(
      distinct_values(read_candidates(job_facts(1, 3), {}), &ReadCandidate::agent_node_count),
      ElementsAre(0U, 1U, 3U));
}

TEST(ReadCandidates, reading_nodes_are_spread_evenly_and_all_have_stripes) {
  const ReadFacts facts = job_facts(2, 8);
  for (const ReadCandidate& one : read_candidates(facts, {})) {
    const ReadTuning tuning = plan_with(one, {}, facts.linked_nodes).tuning;
    EXPECT_EQ(tuning.agent_nodes.size(), one.agent_node_count);
    if (one.agent_node_count == 0) continue;
    EXPECT_GE(facts.extent.size / tuning.agent_stripe_bytes, one.agent_node_count);
    EXPECT_GE(tuning.agent_stripe_bytes, tuning.splinter_bytes);
  }
  EXPECT_THAT(plan_with({.agent_node_count = 2}, {}, 8).tuning.agent_nodes, ElementsAre(0U, 4U));
  EXPECT_THAT(plan_with({.agent_node_count = 3}, {}, 3).tuning.agent_nodes,
              ElementsAre(0U, 1U, 2U));
}

TEST(ReadCandidates, candidates_are_distinct_and_plans_complete_to_them) {
  for (const std::uint32_t nodes : {1U, 2U, 16U}) {
    const ReadFacts facts = job_facts(3, nodes);
    const auto candidates = read_candidates(facts, {});
    EXPECT_LE(candidates.size(), 400U);
    for (std::size_t i = 0; i < candidates.size(); ++i)
      EXPECT_EQ(std::ranges::count(candidates, candidates[i]), 1) << i;
    expect_complete(facts, {});
  }
}

TEST(ReadCandidates, values_of_the_program_stay) {
  const auto candidates_with = [](const std::function<void(ReadPlan&)>& set) {
    ReadPlan requested;
    set(requested);
    const auto candidates = read_candidates(job_facts(4, 4), requested);
    EXPECT_FALSE(candidates.empty());
    for (const ReadCandidate& one : candidates) {
      ReadPlan tried = plan_with(one, requested, 4);
      set(tried);
      EXPECT_EQ(tried, plan_with(one, requested, 4));
    }
    return candidates;
  };
  const auto sizes = candidates_with([](ReadPlan& plan) {
    plan.tuning.request_bytes = 128_KiB;
    plan.tuning.queue_depth = 3;
    plan.tuning.agent_stripe_bytes = 2_MiB;
  });
  EXPECT_THAT(distinct_values(sizes, &ReadCandidate::request_bytes), ElementsAre(128_KiB));
  const auto scope =
      candidates_with([](ReadPlan& plan) { plan.tuning.agent_scope = AgentScope::kPerRank; });
  EXPECT_THAT(distinct_values(scope, &ReadCandidate::agent_node_count), ElementsAre(0U));
  const auto nodes = candidates_with([](ReadPlan& plan) { plan.tuning.agent_nodes = {3, 1}; });
  EXPECT_THAT(distinct_values(nodes, &ReadCandidate::agent_scope), ElementsAre(std::nullopt));
}

TEST(ReadCandidates, functions_on_agents_need_the_agent_of_the_node) {
  const ReadPlan requested{.pre_execution_mode = PreExecutionMode::kAgent};
  EXPECT_THAT(
      distinct_values(read_candidates(job_facts(4, 1), requested), &ReadCandidate::agent_scope),
      ElementsAre(std::nullopt));
}

TEST(ReadCandidates, plan_that_cannot_work_has_none) {
  ReadPlan requested;
  requested.tuning.splinter_bytes = 1000;
  EXPECT_THAT(read_candidates(job_facts(4, 4), requested), IsEmpty());
}

}  // namespace
}  // namespace forebay
