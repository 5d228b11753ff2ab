// SPDX-License-Identifier: Apache-2.0
// Who hashes: cores, ranks and storage decide, and a plan says why.
#include "write/hashing.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "write/plan.hpp"

namespace forebay::write {
namespace {

using ::testing::HasSubstr;

constexpr HashingSpeeds kSpeeds{
    .copy_mb_per_s = 5000, .hashed_copy_mb_per_s = 2500, .hash_mb_per_s = 4000};

ChecksumBy cheaper_at(const HashingPlace& place) { return hashing_cost(place, kSpeeds).cheaper(); }

TEST(Hashing, where_ranks_fill_all_cores_goes_with_the_copy) {
  const HashingCost cost = hashing_cost({.ranks = 8, .cores = 8}, kSpeeds);
  EXPECT_DOUBLE_EQ(cost.copy_us, 400);
  EXPECT_DOUBLE_EQ(cost.agent_us, 200 + 250) << "the copy, and a second pass over memory";
  EXPECT_EQ(cost.cheaper(), ChecksumBy::kCopy);
  EXPECT_EQ(cheaper_at({.ranks = 9, .cores = 8}), ChecksumBy::kCopy);
  EXPECT_EQ(cheaper_at({.ranks = 1, .cores = 0}), ChecksumBy::kCopy) << "cores are not known";
}

TEST(Hashing, on_a_free_core_costs_nothing_behind_slow_storage) {
  const HashingCost cost = hashing_cost({.ranks = 4, .cores = 5, .storage_mb_per_s = 500}, kSpeeds);
  EXPECT_DOUBLE_EQ(cost.agent_us, 200) << "hashing 4 MB takes 1 ms, storage 8 ms for them";
  EXPECT_EQ(cost.cheaper(), ChecksumBy::kAgent);
  EXPECT_EQ(cheaper_at({.ranks = 4, .cores = 5}), ChecksumBy::kAgent) << "storage is not known";
}

TEST(Hashing, of_few_cores_for_many_ranks_holds_up_fast_storage) {
  const HashingPlace place{.ranks = 8, .cores = 9, .storage_mb_per_s = 16'000};
  EXPECT_DOUBLE_EQ(hashing_cost(place, kSpeeds).agent_us, 200 + 8 * 250 - 8 * 62.5);
  EXPECT_EQ(cheaper_at(place), ChecksumBy::kCopy);
  HashingPlace roomy = place;
  roomy.cores = 16;
  EXPECT_DOUBLE_EQ(hashing_cost(roomy, kSpeeds).agent_us, 200);
}

TEST(Hashing, uses_one_core_for_each_agent_at_most) {
  EXPECT_EQ(cores_for_agents({.ranks = 2, .cores = 64}), 2U);
  EXPECT_EQ(cores_for_agents({.ranks = 2, .cores = 3}), 1U);
  EXPECT_EQ(cores_for_agents({.ranks = 2, .cores = 2}), 0U);
}

WriteFacts two_ranks(std::uint32_t cores) {
  return {.crew = {.node_of_computing = {0, 0}}, .cores_of_node = cores};
}

TEST(Hashing, is_in_a_plan_with_its_reason) {
  const auto full = plan_write(two_ranks(2));
  EXPECT_EQ(full->checksum_by, ChecksumBy::kCopy);
  EXPECT_THAT(full->reason, HasSubstr("checksums on the copy, no core is free on a node with 2"));
  const auto roomy = plan_write(two_ranks(4));
  EXPECT_EQ(roomy->checksum_by, ChecksumBy::kAgent);
  EXPECT_THAT(roomy->reason, HasSubstr("checksums by the agent, 2 free cores on a node with 2"));
  EXPECT_THAT(plan_write(two_ranks(0))->reason, HasSubstr("free cores are not known"));
}

TEST(Hashing, that_a_plan_gives_is_not_changed) {
  const auto given = plan_write(two_ranks(2), {.checksum_by = ChecksumBy::kAgent});
  EXPECT_EQ(given->checksum_by, ChecksumBy::kAgent);
  EXPECT_EQ(given->reason.find("checksums"), std::string::npos) << given->reason;
}

TEST(Hashing, of_what_is_compressed_is_done_by_who_compresses) {
  const auto plan = plan_write(two_ranks(64), {.codec = Codec::kZstd});
  EXPECT_EQ(plan->checksum_by, ChecksumBy::kCopy);
  EXPECT_THAT(plan->reason, HasSubstr("put() compresses"));
}

TEST(Hashing, is_planned_for_the_node_with_the_most_ranks) {
  WriteFacts facts{.crew = {.node_of_computing = {0, 1, 1, 1}}, .cores_of_node = 3};
  EXPECT_EQ(plan_write(facts)->checksum_by, ChecksumBy::kCopy);
  facts.crew.node_of_computing = {0, 1, 2, 2};
  EXPECT_EQ(plan_write(facts)->checksum_by, ChecksumBy::kAgent);
}

TEST(Hashing, before_a_disk_hides_and_before_memory_does_not) {
  WriteFacts facts = two_ranks(4);
  facts.storage = StorageKind::kLocal;
  EXPECT_EQ(plan_write(facts)->checksum_by, ChecksumBy::kAgent);
  facts.storage = StorageKind::kMemory;
  EXPECT_EQ(plan_write(facts)->checksum_by, ChecksumBy::kCopy);
}

TEST(Hashing, follows_the_storage_of_a_machine) {
  model::Machine machine;
  machine.name = "servers";
  machine.servers = {{.count = 1, .write_bandwidth_mb_per_s = 100}};
  machine.client.link_bandwidth_mb_per_s = 1e6;
  WriteFacts facts{.crew = {.node_of_computing = std::vector<std::uint32_t>(8, 0)},
                   .step_bytes = {64_MiB},
                   .machine = &machine,
                   .cores_of_node = 9};
  EXPECT_EQ(plan_write(facts)->checksum_by, ChecksumBy::kAgent);
  machine.servers.front().write_bandwidth_mb_per_s = 1e6;
  EXPECT_EQ(plan_write(facts)->checksum_by, ChecksumBy::kCopy)
      << "one core cannot hash as fast as that is written";
}

}  // namespace
}  // namespace forebay::write
