// SPDX-License-Identifier: Apache-2.0
#include "write/plan_candidates.hpp"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "write/plan_schedule.hpp"

namespace forebay::write {
namespace {

WriteFacts facts_of_nodes(std::uint32_t nodes, std::uint32_t ranks_of_each) {
  WriteFacts facts{.step_bytes = {8_MiB}};
  for (std::uint32_t rank = 0; rank < nodes * ranks_of_each; ++rank)
    facts.rank_layout.node_of_compute_rank.push_back(rank / ranks_of_each);
  return facts;
}

std::vector<WritePlan> candidates_for(const WriteFacts& facts, const WritePlan& requested = {}) {
  auto opened = plan_write(facts, requested);
  EXPECT_TRUE(opened);
  opened->memory_bytes = std::max(opened->memory_bytes, memory_for_changes(*opened));
  const std::vector<WritePlan> plans = candidate_plans(facts, requested, *opened);
  EXPECT_EQ(plans.front(), *opened);
  return plans;
}

TEST(CandidatePlans, differ_in_strategy_writers_files_and_unit) {
  std::set<Strategy> strategies;
  std::set<std::uint32_t> writers;
  std::set<std::uint32_t> files;
  std::set<std::uint64_t> units;
  for (const WritePlan& plan : candidates_for(facts_of_nodes(4, 8))) {
    strategies.insert(plan.strategy);
    writers.insert(plan.writers);
    files.insert(plan.files);
    units.insert(plan.tuning.unit_bytes);
  }
  EXPECT_EQ(strategies.size(), 4U);
  EXPECT_EQ(writers, (std::set<std::uint32_t>{1, 2, 4, 8, 16, 32}));
  EXPECT_EQ(files, writers);
  EXPECT_EQ(units, (std::set<std::uint64_t>{1_MiB, 4_MiB}));
}

TEST(CandidatePlans, are_complete_distinct_and_few_for_any_number_of_ranks) {
  for (const auto& facts : {facts_of_nodes(1, 1), facts_of_nodes(1, 2), facts_of_nodes(3, 5),
                            facts_of_nodes(128, 1), facts_of_nodes(512, 64)}) {
    const std::vector<WritePlan> plans = candidates_for(facts);
    EXPECT_LE(plans.size(), 400U);
    EXPECT_GE(plans.size(), facts.rank_layout.compute_rank_count() == 1 ? 2U : 5U);
    for (const WritePlan& plan : plans) {
      const auto again = plan_write(facts, plan);
      ASSERT_TRUE(again) << plan.reason;
      WritePlan expected = plan;
      expected.reason = again->reason;
      EXPECT_EQ(*again, expected);
      EXPECT_LE(plan.memory_bytes, plans.front().memory_bytes);
      EXPECT_EQ(plan.steps_in_flight, plans.front().steps_in_flight);
    }
  }
}

TEST(CandidatePlans, set_values_do_not_change) {
  const WriteFacts facts = facts_of_nodes(4, 8);
  for (const WritePlan& requested :
       {WritePlan{.strategy = Strategy::kBrigade}, WritePlan{.writers = 6}, WritePlan{.files = 3},
        WritePlan{.tuning = {.unit_bytes = 2_MiB}},
        WritePlan{.tuning = {.transfer_mode = TransferMode::kBaton}}}) {
    const std::vector<WritePlan> plans = candidates_for(facts, requested);
    EXPECT_GT(plans.size(), 1U);
    for (const WritePlan& plan : plans) {
      if (requested.strategy != Strategy::kAuto) {
        EXPECT_EQ(plan.strategy, requested.strategy);
      }
      if (requested.writers != 0) {
        EXPECT_EQ(plan.writers, requested.writers);
      }
      if (requested.files != 0) {
        EXPECT_EQ(plan.files, requested.files);
      }
      if (requested.tuning.unit_bytes != 0) {
        EXPECT_EQ(plan.tuning.unit_bytes, requested.tuning.unit_bytes);
      }
      if (requested.tuning.transfer_mode) {
        EXPECT_EQ(plan.tuning.transfer_mode, requested.tuning.transfer_mode);
      }
    }
  }
}

using Accesses = std::set<std::optional<Access>>;

Accesses accesses_of(const WriteFacts& facts, const WritePlan& requested = {}) {
  Accesses accesses;
  for (const WritePlan& plan : candidates_for(facts, requested))
    accesses.insert(plan.tuning.access);
  return accesses;
}

TEST(CandidatePlans, each_shape_has_the_access_that_is_not_usual) {
  WriteFacts facts = facts_of_nodes(2, 4);
  facts.file_system = storage::FileSystem::kXfs;
  facts.step_bytes = {256_MiB};
  EXPECT_EQ(accesses_of(facts), (Accesses{std::nullopt, Access::kBuffered}));
  facts.step_bytes = {4096};
  EXPECT_EQ(accesses_of(facts), (Accesses{std::nullopt, Access::kDirect}))
      << "short files are buffered";
  facts.step_bytes = {};
  EXPECT_EQ(accesses_of(facts), (Accesses{std::nullopt, Access::kBuffered, Access::kDirect}))
      << "long or short ones";
}

TEST(CandidatePlans, access_does_not_change_if_it_is_set_or_has_no_effect) {
  WriteFacts facts = facts_of_nodes(2, 4);
  EXPECT_EQ(accesses_of(facts, {.tuning = {.access = Access::kDirect}}),
            (Accesses{Access::kDirect}));
  facts.file_system = storage::FileSystem::kFuse;
  EXPECT_EQ(accesses_of(facts), (Accesses{std::nullopt}));
  facts.file_system = storage::FileSystem::kTmpfs;
  facts.storage = StorageKind::kMemory;
  EXPECT_EQ(accesses_of(facts), (Accesses{std::nullopt}));
}

TEST(CandidatePlans, stay_within_the_memory_at_opening) {
  WriteFacts facts = facts_of_nodes(4, 8);
  const std::vector<WritePlan> plans = candidates_for(facts, {.memory_bytes = 4_MiB});
  EXPECT_GT(plans.size(), 1U);
  for (const WritePlan& plan : plans)
    EXPECT_LE(plan.memory_bytes, plans.front().memory_bytes);
}

TEST(CandidatePlans, can_follow_the_plan_at_opening) {
  WriteFacts facts = facts_of_nodes(4, 8);
  for (std::uint64_t memory = 1_MiB; memory <= 64_MiB; memory += memory / 2) {
    for (std::uint64_t step = 64_KiB; step <= 64_MiB; step *= 4) {
      facts.step_bytes = {step};
      const std::vector<WritePlan> plans = candidates_for(facts, {.memory_bytes = memory});
      const PlanSchedule schedule({.rank_layout = facts.rank_layout, .plan = plans.front()});
      for (const WritePlan& plan : plans) {
        const auto accepted = schedule.complete(plan);
        ASSERT_TRUE(accepted) << accepted.error().message();
      }
    }
  }
}

TEST(CandidatePlans, io_ranks_remain_the_writers) {
  WriteFacts facts = facts_of_nodes(4, 8);
  facts.rank_layout.node_of_io_rank = {0, 1, 2, 3};
  for (const WritePlan& plan : candidates_for(facts)) {
    EXPECT_EQ(plan.tuning.placement, Placement::kDedicated);
    EXPECT_LE(plan.writers, 4U);
  }
}

}  // namespace
}  // namespace forebay::write
