// SPDX-License-Identifier: Apache-2.0
// Plans: choices, rejections and their texts, and thousands of random jobs for which all rules must
// hold.
#include "write/plan.hpp"

#include <array>
#include <bit>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing.hpp"
#include "model/machine.hpp"

namespace forebay::write {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kSeed = 611'020;

WriteFacts facts_of(std::uint32_t nodes,
                    std::uint32_t ranks_on_each,
                    StorageKind storage = StorageKind::kUnknown) {
  WriteFacts facts{.storage = storage};
  for (std::uint32_t i = 0; i < nodes * ranks_on_each; ++i)
    facts.rank_layout.node_of_compute_rank.push_back(i / ranks_on_each);
  return facts;
}

WriteFacts with_io_ranks(WriteFacts facts, std::uint32_t nodes) {
  for (std::uint32_t node = 0; node < nodes; ++node)
    facts.rank_layout.node_of_io_rank.push_back(node);
  return facts;
}

void expect_shape(const Result<WritePlan>& plan,
                  Strategy strategy,
                  std::uint32_t writers,
                  std::uint32_t files) {
  ASSERT_TRUE(plan) << plan.error().message();
  EXPECT_EQ(name_of(plan->strategy), name_of(strategy)) << plan->reason;
  EXPECT_EQ(plan->writers, writers) << plan->reason;
  EXPECT_EQ(plan->files, files) << plan->reason;
}

TEST(WritePlan, local_disk_with_few_ranks_gets_file_per_process) {
  expect_shape(plan_write(facts_of(1, 8, StorageKind::kLocal)), Strategy::kFilePerProcess, 8, 8);
  expect_shape(plan_write(facts_of(2, 8, StorageKind::kLocal)), Strategy::kFilePerProcess, 16, 16);
  expect_shape(plan_write(facts_of(2, 9, StorageKind::kLocal)), Strategy::kReducedBlocking, 2, 2);
}

TEST(WritePlan, network_file_system_gets_one_writer_per_node) {
  expect_shape(plan_write(facts_of(1, 1, StorageKind::kNetwork)), Strategy::kFilePerProcess, 1, 1);
  expect_shape(plan_write(facts_of(3, 4, StorageKind::kNetwork)), Strategy::kReducedBlocking, 3, 3);
}

TEST(WritePlan, parallel_file_system_keeps_servers_busy) {
  WriteFacts facts = facts_of(2, 16, StorageKind::kParallel);
  expect_shape(plan_write(facts), Strategy::kReducedBlocking, 2, 2);
  facts.servers = 12;
  expect_shape(plan_write(facts), Strategy::kReducedBlocking, 12, 12);
  facts.servers = 100;
  expect_shape(plan_write(facts, {.strategy = Strategy::kBrigade}), Strategy::kBrigade, 32, 32);
  expect_shape(plan_write(facts_of(2, 4)), Strategy::kFilePerProcess, 8, 8);
}

TEST(WritePlan, strategy_sets_shape) {
  const WriteFacts facts = facts_of(2, 4, StorageKind::kLocal);
  expect_shape(plan_write(facts, plan_of(Strategy::kSerial)), Strategy::kSerial, 1, 1);
  expect_shape(plan_write(facts, plan_of(Strategy::kFilePerProcess)), Strategy::kFilePerProcess, 8,
               8);
  expect_shape(plan_write(facts, plan_of(Strategy::kBaton)), Strategy::kBaton, 8, 2);
  expect_shape(plan_write(facts, plan_of(Strategy::kCollective)), Strategy::kCollective, 8, 2);
  expect_shape(plan_write(facts, plan_of(Strategy::kReducedBlocking)), Strategy::kReducedBlocking,
               2, 2);
  expect_shape(plan_write(facts, plan_of(Strategy::kBrigade)), Strategy::kBrigade, 2, 2);
  expect_shape(plan_write(facts, plan_of(Strategy::kGather)), Strategy::kGather, 2, 2);
}

TEST(WritePlan, exchange_and_transfer_mode_imply_strategy) {
  const WriteFacts facts = facts_of(1, 4, StorageKind::kLocal);
  expect_shape(plan_write(facts, {.tuning = {.transfer_mode = TransferMode::kBaton}}),
               Strategy::kBaton, 4, 1);
  expect_shape(plan_write(facts, {.tuning = {.exchange = Exchange::kGather}}), Strategy::kGather, 1,
               1);
  expect_shape(plan_write(facts, {.writers = 2}), Strategy::kReducedBlocking, 2, 2);
  expect_shape(plan_write(facts, {.writers = 4}), Strategy::kFilePerProcess, 4, 4);
  expect_shape(plan_write(facts, {.writers = 4, .files = 2}), Strategy::kReducedBlocking, 4, 2);
  expect_shape(plan_write(facts, {.files = 3}), Strategy::kReducedBlocking, 3, 3);
}

TEST(WritePlan, shared_memory_is_chosen_within_nodes) {
  const WritePlan two{.strategy = Strategy::kReducedBlocking, .writers = 2};
  EXPECT_EQ(plan_write(facts_of(2, 2), two)->tuning.exchange, Exchange::kSharedMemory);
  EXPECT_EQ(plan_write(facts_of(4, 1), two)->tuning.exchange, Exchange::kMessage);
  EXPECT_EQ(plan_write(facts_of(2, 1), two)->tuning.exchange, Exchange::kNone);
}

TEST(WritePlan, io_ranks_are_used_as_writers) {
  const WriteFacts facts = with_io_ranks(facts_of(2, 3), 2);
  expect_shape(plan_write(facts), Strategy::kReducedBlocking, 2, 2);
  EXPECT_EQ(plan_write(facts)->tuning.placement, Placement::kDedicated);
  EXPECT_THAT(plan_write(facts)->reason, HasSubstr("by I/O ranks"));
  const auto baton = plan_write(facts, plan_of(Strategy::kBaton));
  EXPECT_EQ(baton->tuning.placement, Placement::kInRank);
  EXPECT_EQ(plan_write(facts, {.writers = 3})->tuning.placement, Placement::kInRank);
}

TEST(WritePlan, io_ranks_are_unused_if_each_rank_writes) {
  const WriteFacts facts = with_io_ranks(facts_of(2, 3), 2);
  for (const Strategy strategy :
       {Strategy::kSerial, Strategy::kFilePerProcess, Strategy::kCollective}) {
    WritePlan requested = plan_of(strategy);
    EXPECT_EQ(plan_write(facts, requested)->tuning.placement, Placement::kInRank);
    requested.tuning.placement = Placement::kDedicated;
    const auto refused = plan_write(facts, requested);
    ASSERT_EQ(error_class(refused), ErrorClass::kInvalidArgument) << name_of(strategy);
    EXPECT_THAT(refused.error().message(), HasSubstr("placement is dedicated"));
  }
  WritePlan baton = plan_of(Strategy::kBaton);
  baton.tuning.placement = Placement::kDedicated;
  EXPECT_EQ(plan_write(facts, baton)->writers, 2U);
}

TEST(WritePlan, units_and_memory_suit_the_step) {
  WriteFacts facts = facts_of(1, 2, StorageKind::kLocal);
  EXPECT_EQ(plan_write(facts)->tuning.unit_bytes, 4_MiB);
  EXPECT_EQ(plan_write(facts)->memory_bytes, 64_MiB);
  facts.free_share_bytes = 300_MiB;
  EXPECT_EQ(plan_write(facts)->memory_bytes, 300_MiB)
      << "memory is taken as the first step needs it";
  facts.free_share_bytes = 100_GiB;
  EXPECT_EQ(plan_write(facts)->memory_bytes, 1_GiB);
  facts.step_bytes = {100_MiB + 5, 30_MiB};
  EXPECT_EQ(plan_write(facts)->memory_bytes, 100_MiB);
  facts.step_bytes = {1_MiB};
  EXPECT_EQ(plan_write(facts)->tuning.unit_bytes, 512_KiB);
  EXPECT_EQ(plan_write(facts)->memory_bytes, 2_MiB) << "pieces have 1 MiB";
}

TEST(WritePlan, memory_is_limited_to_share_of_free_memory) {
  WriteFacts facts = facts_of(1, 4, StorageKind::kLocal);
  const WritePlan own{.strategy = Strategy::kFilePerProcess};
  facts.free_share_bytes = 20_MiB;
  EXPECT_EQ(plan_write(facts, own)->memory_bytes, 20_MiB);
  facts.free_share_bytes = 5_MiB;
  EXPECT_EQ(plan_write(facts, own)->memory_bytes, 4_MiB);
  facts.step_bytes = {300_MiB};
  EXPECT_EQ(plan_write(facts, own)->memory_bytes, 4_MiB) << "also after a step of known size";
  facts.free_share_bytes = 4096;
  EXPECT_EQ(plan_write(facts, own)->tuning.unit_bytes, 1_MiB);
  EXPECT_EQ(plan_write(facts, own)->memory_bytes, 2_MiB) << "one unit is filled, one is written";
  WritePlan requested = own;
  requested.memory_bytes = 300_MiB;
  EXPECT_EQ(plan_write(facts, requested)->memory_bytes, 300_MiB);
  EXPECT_EQ(plan_write(facts, requested)->tuning.unit_bytes, 4_MiB);
}

TEST(WritePlan, too_small_memory_is_raised_and_reported) {
  const WriteFacts facts = facts_of(1, 4, StorageKind::kLocal);
  WritePlan requested{.strategy = Strategy::kFilePerProcess, .tuning = {.unit_bytes = 64_KiB}};
  requested.memory_bytes = 1_MiB;
  const auto own = plan_write(facts, requested);
  ASSERT_TRUE(own) << own.error().message();
  EXPECT_EQ(own->memory_bytes, 2_MiB);
  EXPECT_THAT(own->reason, HasSubstr("from 1048576 to 2097152, the minimum"));
  requested.strategy = Strategy::kReducedBlocking;
  requested.writers = 2;
  const auto grouped = plan_write(facts, requested);
  ASSERT_TRUE(grouped) << grouped.error().message();
  EXPECT_EQ(grouped->memory_bytes, 4_MiB) << "a writer takes bytes of others";
  requested.memory_bytes = 5_MiB;
  EXPECT_EQ(plan_write(facts, requested)->memory_bytes, 5_MiB);
}

TEST(WritePlan, shared_files_are_aligned_to_locks) {
  model::Machine machine;
  machine.name = "locks";
  machine.servers = {{.count = 2, .latency_us = 100, .bandwidth_mb_per_s = 100}};
  machine.locks = {.unit = model::LockUnit::kBytes, .unit_bytes = 2_MiB, .change_us = 100};
  WriteFacts facts = facts_of(2, 2);
  facts.machine = &machine;
  const WritePlan shared{.strategy = Strategy::kReducedBlocking, .writers = 4, .files = 1};
  EXPECT_EQ(plan_write(facts, shared)->tuning.alignment_bytes, 2_MiB);
  WritePlan own = shared;
  own.files = 4;
  EXPECT_EQ(plan_write(facts, own)->tuning.alignment_bytes, 4_KiB);
}

struct InvalidPlan {
  WritePlan requested;
  std::string_view text;
};

TEST(WritePlan, invalid_plan_error_names_value_and_fix) {
  const WriteFacts facts = facts_of(2, 2);
  const std::array<InvalidPlan, 21> invalid_plans{{
      {{.writers = 5}, "writers is 5, and there are 4 compute ranks"},
      {{.writers = 2, .files = 3}, "files is 3, and there are at most 2 writers"},
      {{.strategy = Strategy::kSerial, .writers = 2}, "the strategy has exactly 1"},
      {{.strategy = Strategy::kFilePerProcess, .files = 2}, "the strategy has exactly 4"},
      {{.strategy = Strategy::kCollective, .writers = 2}, "the strategy has exactly 4"},
      {{.strategy = Strategy::kFilePerProcess, .tuning = {.exchange = Exchange::kMessage}},
       "exchange is message, which is not the strategy file-per-process"},
      {{.strategy = Strategy::kBrigade, .tuning = {.exchange = Exchange::kGather}},
       "leave one of them open"},
      {{.strategy = Strategy::kBrigade, .tuning = {.transfer_mode = TransferMode::kBaton}},
       "transfer_mode is baton"},
      {{.writers = 2, .tuning = {.exchange = Exchange::kNone}}, "2 of 4 ranks write"},
      {{.tuning = {.placement = Placement::kDedicated}}, "FOREBAY_PLACEMENT=dedicated"},
      {{.tuning = {.stripe_bytes = 100}}, "stripe_bytes is 100: write a number from 4096"},
      {{.tuning = {.stripe_bytes = 12'288}}, "no power of two: write 8192"},
      {{.tuning = {.unit_bytes = 1}}, "unit_bytes is 1: write a number from 4096"},
      {{.tuning = {.unit_bytes = 4097}}, "write a multiple of alignment_bytes, 4096"},
      {{.tuning = {.unit_bytes = 64_KiB, .alignment_bytes = 1_MiB}}, "alignment_bytes, 1048576"},
      {{.memory_bytes = 1_MiB, .tuning = {.unit_bytes = 1_MiB}}, "at least two units, 2097152"},
      {{.steps_in_flight = 65}, "steps_in_flight is 65: write a number from 1 to 64"},
      {{.codec_level = 5}, "make codec zstd"},
      {{.codec = Codec::kZstd, .codec_level = 20}, "codec_level is 20"},
      {{.step_timeout = std::chrono::milliseconds(-1)}, "step_timeout_ms is negative"},
      {{.step_timeout = std::chrono::hours(25)}, "step_timeout_ms is 90000000"},
  }};
  for (const InvalidPlan& invalid : invalid_plans) {
    const auto plan = plan_write(facts, invalid.requested);
    ASSERT_FALSE(plan) << invalid.text;
    EXPECT_EQ(plan.error().kind(), ErrorClass::kInvalidArgument);
    EXPECT_THAT(plan.error().message(), HasSubstr(invalid.text));
  }
}

TEST(WritePlan, put_waits_for_step_timeout_and_stalls_one_minute) {
  const WritePlan plan = plan_write(facts_of(1, 4), {.strategy = Strategy::kBaton}).value();
  EXPECT_EQ(plan.step_timeout, std::chrono::minutes(10));
  EXPECT_EQ(stall_max(plan), std::chrono::minutes(1));
  EXPECT_EQ(put_wait_max(plan), plan.step_timeout);
  WritePlan hasty = plan;
  hasty.step_timeout = std::chrono::milliseconds(1500);
  EXPECT_EQ(stall_max(hasty), hasty.step_timeout);
  EXPECT_EQ(put_wait_max(hasty), hasty.step_timeout);
}

TEST(WritePlan, fail_policy_makes_put_wait_zero) {
  WritePlan plan = plan_write(facts_of(1, 4), {.strategy = Strategy::kCollective}).value();
  plan.staging_full_policy = StagingFullPolicy::kFail;
  EXPECT_EQ(put_wait_max(plan), std::chrono::milliseconds::zero());
}

class RandomPlan {
 public:
  explicit RandomPlan(std::uint64_t seed) : random_(seed) {}

  WriteFacts facts(const model::Machine& machine) {
    WriteFacts facts{.storage = static_cast<StorageKind>(below(5))};
    const std::uint32_t ranks = 1 + below(12);
    for (RankNumber rank = 0; rank < ranks; ++rank)
      facts.rank_layout.node_of_compute_rank.push_back(below(4));
    for (std::uint32_t i = below(3); i > 0; --i)
      facts.rank_layout.node_of_io_rank.push_back(below(4));
    if (below(2) == 0) facts.step_bytes = {1ULL << below(24)};
    if (below(16) == 0) facts.machine = &machine;
    facts.free_share_bytes = pick({0, 0, 4096, 5_MiB, 64_MiB, 4_GiB});
    return facts;
  }
  WritePlan requested() {
    WritePlan plan{.strategy = static_cast<Strategy>(below(8))};
    if (below(2) == 0) plan.writers = below(10);
    if (below(2) == 0) plan.files = below(10);
    if (below(4) == 0) plan.tuning.exchange = static_cast<Exchange>(below(5));
    if (below(4) == 0) plan.tuning.transfer_mode = static_cast<TransferMode>(below(3));
    if (below(4) == 0) plan.tuning.placement = static_cast<Placement>(below(2));
    plan.tuning.unit_bytes = pick({0, 0, 4_KiB, 1_MiB, 12_MiB, 64_MiB});
    plan.tuning.alignment_bytes = pick({0, 0, 4_KiB, 1_MiB, 128_MiB});
    plan.memory_bytes = pick({0, 0, 8_KiB, 64_MiB});
    plan.tuning.stripe_bytes = pick({0, 0, 1_MiB});
    plan.codec = static_cast<Codec>(below(2));
    return plan;
  }

 private:
  std::uint32_t below(std::uint64_t end) { return static_cast<std::uint32_t>(random_() % end); }
  std::uint64_t pick(std::initializer_list<std::uint64_t> values) {
    return values.begin()[below(values.size())];
  }
  std::mt19937_64 random_;
};

void check_complete(const WriteFacts& facts, const WritePlan& plan) {
  const bool dedicated = plan.tuning.placement == Placement::kDedicated;
  EXPECT_NE(plan.strategy, Strategy::kAuto);
  EXPECT_GE(plan.writers, 1U);
  EXPECT_LE(plan.writers,
            dedicated ? facts.rank_layout.io_rank_count() : facts.rank_layout.compute_rank_count());
  EXPECT_GE(plan.files, 1U);
  EXPECT_LE(plan.files, plan.writers);
  EXPECT_EQ(plan.tuning.exchange == Exchange::kNone,
            !dedicated && plan.writers == facts.rank_layout.compute_rank_count());
  EXPECT_TRUE(plan.tuning.transfer_mode.has_value());
  EXPECT_TRUE(std::has_single_bit(plan.tuning.alignment_bytes));
  EXPECT_EQ(plan.tuning.unit_bytes % plan.tuning.alignment_bytes, 0U);
  EXPECT_GE(plan.memory_bytes, 2 * segment_bytes_of(plan));
  EXPECT_GE(plan.steps_in_flight, 1U);
  EXPECT_GT(plan.step_timeout.count(), 0);
  EXPECT_FALSE(plan.reason.empty());
  // Other ranks receive it in this form, and check it again.
  auto decoded = parse_write_plan(to_toml(plan), "received");
  ASSERT_TRUE(decoded) << decoded.error().message();
  decoded->reason = plan.reason;  // a comment in the TOML
  EXPECT_EQ(*decoded, plan);
}

void check_preserved(const WritePlan& requested, const WritePlan& plan) {
  EXPECT_TRUE(requested.strategy == Strategy::kAuto || requested.strategy == plan.strategy);
  EXPECT_TRUE(requested.writers == 0 || requested.writers == plan.writers);
  EXPECT_TRUE(requested.files == 0 || requested.files == plan.files);
  EXPECT_TRUE(!requested.tuning.exchange || plan.tuning.exchange == Exchange::kNone ||
              requested.tuning.exchange == plan.tuning.exchange);
  EXPECT_TRUE(!requested.tuning.transfer_mode ||
              requested.tuning.transfer_mode == plan.tuning.transfer_mode);
  EXPECT_TRUE(!requested.tuning.placement || requested.tuning.placement == plan.tuning.placement);
  EXPECT_TRUE(requested.tuning.unit_bytes == 0 ||
              requested.tuning.unit_bytes == plan.tuning.unit_bytes);
  EXPECT_TRUE(requested.tuning.alignment_bytes == 0 ||
              requested.tuning.alignment_bytes == plan.tuning.alignment_bytes);
  EXPECT_TRUE(requested.memory_bytes == 0 || requested.memory_bytes <= plan.memory_bytes);
}

TEST(WritePlan, random_requests_give_consistent_plans) {
  model::Machine machine;
  machine.name = "small";
  machine.client.count = 4;
  machine.servers = {{.count = 3,
                      .latency_us = 300,
                      .bandwidth_mb_per_s = 100,
                      .write_latency_us = 300,
                      .write_bandwidth_mb_per_s = 80}};
  machine.metadata.create_us = 700;
  machine.locks = {.unit = model::LockUnit::kStripe, .change_us = 100};
  int whole = 0;
  for (std::uint64_t round = 0; round < 4'000 && !HasFailure(); ++round) {
    SCOPED_TRACE("seed " + std::to_string(kSeed + round));
    RandomPlan random(kSeed + round);
    const WriteFacts facts = random.facts(machine);
    const WritePlan requested = random.requested();
    auto plan = plan_write(facts, requested);
    if (!plan) continue;
    ++whole;
    check_complete(facts, *plan);
    check_preserved(requested, *plan);
    auto again = plan_write(facts, *plan);
    ASSERT_TRUE(again) << again.error().message();
    again->reason = plan->reason;
    EXPECT_EQ(*again, *plan) << "a complete plan is unchanged";
  }
  EXPECT_GT(whole, 500);
}

}  // namespace
}  // namespace forebay::write
