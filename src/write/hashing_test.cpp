// SPDX-License-Identifier: Apache-2.0
// Which thread hashes: cores, ranks and storage decide, and the plan has the reason.
#include "write/hashing.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "write/plan.hpp"

namespace forebay::write {
namespace {

using ::testing::HasSubstr;

constexpr HashingRates kSpeeds{
    .copy_mb_per_s = 5000, .hashed_copy_mb_per_s = 2500, .hash_mb_per_s = 4000};

ChecksumStage choice_at(const HashingNode& node) { return hashing_cost(node, kSpeeds).choice(); }

TEST(Hashing, busy_cores_choose_copy) {
  const HashingCost cost = hashing_cost({.ranks = 8, .cores = 8}, kSpeeds);
  EXPECT_DOUBLE_EQ(cost.copy_us, 400);
  EXPECT_DOUBLE_EQ(cost.agent_us, 200 + 250) << "the copy, and a second pass over memory";
  EXPECT_EQ(cost.choice(), ChecksumStage::kCopy);
  EXPECT_EQ(choice_at({.ranks = 9, .cores = 8}), ChecksumStage::kCopy);
  EXPECT_EQ(choice_at({.ranks = 1, .cores = 0}), ChecksumStage::kCopy) << "cores are unknown";
}

TEST(Hashing, free_core_hides_hashing_behind_slow_storage) {
  const HashingCost cost = hashing_cost({.ranks = 4, .cores = 5, .storage_mb_per_s = 500}, kSpeeds);
  EXPECT_DOUBLE_EQ(cost.agent_us, 200) << "hashing 4 MB takes 1 ms, storage 8 ms for them";
  EXPECT_EQ(cost.choice(), ChecksumStage::kAgent);
  EXPECT_EQ(choice_at({.ranks = 4, .cores = 5}), ChecksumStage::kAgent) << "storage is unknown";
}

TEST(Hashing, few_free_cores_delay_fast_storage) {
  const HashingNode node{.ranks = 8, .cores = 9, .storage_mb_per_s = 16'000};
  EXPECT_DOUBLE_EQ(hashing_cost(node, kSpeeds).agent_us, 200 + 8 * 250 - 8 * 62.5);
  EXPECT_EQ(choice_at(node), ChecksumStage::kCopy);
  HashingNode roomy = node;
  roomy.cores = 16;
  EXPECT_DOUBLE_EQ(hashing_cost(roomy, kSpeeds).agent_us, 200);
}

TEST(Hashing, agent_uses_at_most_one_core) {
  EXPECT_EQ(cores_for_agents({.ranks = 2, .cores = 64}), 2U);
  EXPECT_EQ(cores_for_agents({.ranks = 2, .cores = 3}), 1U);
  EXPECT_EQ(cores_for_agents({.ranks = 2, .cores = 2}), 0U);
}

WriteFacts two_ranks(std::uint32_t cores) {
  return {.rank_layout = {.node_of_compute_rank = {0, 0}}, .cores_of_node = {cores}};
}

TEST(Hashing, plan_has_stage_with_reason) {
  const auto full = plan_write(two_ranks(2));
  EXPECT_EQ(full->tuning.checksum_stage, ChecksumStage::kCopy);
  EXPECT_THAT(full->reason, HasSubstr("checksums on the copy, no core is free on a node with 2"));
  const auto roomy = plan_write(two_ranks(4));
  EXPECT_EQ(roomy->tuning.checksum_stage, ChecksumStage::kAgent);
  EXPECT_THAT(roomy->reason, HasSubstr("checksums by the agent, 2 free cores on a node with 2"));
  EXPECT_THAT(plan_write(two_ranks(0))->reason, HasSubstr("free cores are not known"));
}

TEST(Hashing, stage_of_requested_plan_is_kept) {
  const auto given =
      plan_write(two_ranks(2), {.tuning = {.checksum_stage = ChecksumStage::kAgent}});
  EXPECT_EQ(given->tuning.checksum_stage, ChecksumStage::kAgent);
  EXPECT_EQ(given->reason.find("checksums"), std::string::npos) << given->reason;
}

TEST(Hashing, compressed_data_is_hashed_by_put) {
  const auto plan = plan_write(two_ranks(64), {.codec = Codec::kZstd});
  EXPECT_EQ(plan->tuning.checksum_stage, ChecksumStage::kCopy);
  EXPECT_THAT(plan->reason, HasSubstr("put() compresses"));
}

TEST(Hashing, choice_uses_node_with_most_ranks) {
  WriteFacts facts{.rank_layout = {.node_of_compute_rank = {0, 1, 1, 1}}, .cores_of_node = {3}};
  EXPECT_EQ(plan_write(facts)->tuning.checksum_stage, ChecksumStage::kCopy);
  facts.rank_layout.node_of_compute_rank = {0, 1, 2, 2};
  EXPECT_EQ(plan_write(facts)->tuning.checksum_stage, ChecksumStage::kAgent);
}

// The cores of the first node were compared with the ranks of the fullest.
TEST(Hashing, choice_uses_node_with_fewest_free_cores_for_each_rank) {
  WriteFacts facts{.rank_layout = {.node_of_compute_rank = {0, 0, 1, 1, 1, 1}},
                   .cores_of_node = {16, 4}};
  const auto plan = plan_write(facts);
  EXPECT_EQ(plan->tuning.checksum_stage, ChecksumStage::kCopy);
  EXPECT_THAT(plan->reason, HasSubstr("no core is free on a node with 4 ranks"));
  facts.cores_of_node = {2, 16};
  EXPECT_THAT(plan_write(facts)->reason, HasSubstr("no core is free on a node with 2 ranks"));
  facts.cores_of_node = {4, 8};
  EXPECT_EQ(plan_write(facts)->tuning.checksum_stage, ChecksumStage::kAgent);
  facts.cores_of_node = {4, 0};
  EXPECT_THAT(plan_write(facts)->reason, HasSubstr("free cores are not known"));
}

TEST(Hashing, disk_hides_hashing_and_memory_does_not) {
  WriteFacts facts = two_ranks(4);
  facts.storage = StorageKind::kLocal;
  EXPECT_EQ(plan_write(facts)->tuning.checksum_stage, ChecksumStage::kAgent);
  facts.storage = StorageKind::kMemory;
  EXPECT_EQ(plan_write(facts)->tuning.checksum_stage, ChecksumStage::kCopy);
}

TEST(Hashing, choice_follows_storage_of_machine) {
  model::Machine machine;
  machine.name = "servers";
  machine.servers = {{.count = 1, .write_bandwidth_mb_per_s = 100}};
  machine.client.link_bandwidth_mb_per_s = 1e6;
  WriteFacts facts{.rank_layout = {.node_of_compute_rank = std::vector<std::uint32_t>(8, 0)},
                   .step_bytes = {64_MiB},
                   .machine = &machine,
                   .cores_of_node = {9}};
  EXPECT_EQ(plan_write(facts)->tuning.checksum_stage, ChecksumStage::kAgent);
  machine.servers.front().write_bandwidth_mb_per_s = 1e6;
  EXPECT_EQ(plan_write(facts)->tuning.checksum_stage, ChecksumStage::kCopy)
      << "one core cannot hash as fast as that is written";
}

}  // namespace
}  // namespace forebay::write
