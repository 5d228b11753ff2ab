// SPDX-License-Identifier: Apache-2.0
// The plan of a session: chosen and given values, their limits, and the reasons in it.

#include "read/plan.hpp"

#include <bit>
#include <random>

#include <gtest/gtest.h>

namespace forebay {
namespace {

ReadFacts facts(std::uint64_t size, Access access) {
  return {.extent = {0, size},
          .access = access,
          .access_reason = "test",
          .alignment_bytes = 4096,
          .available_bytes = 64_MiB};
}

TEST(ReadPlan, warm_file_gets_a_window_that_fits_a_core_cache) {
  ReadFacts about = facts(1_GiB, Access::kBuffered);
  about.is_cached = true;
  const auto plan = plan_read(about);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->tuning.window_bytes, 512_KiB);
  EXPECT_EQ(plan->budget_bytes, 64_MiB);
  EXPECT_EQ(plan->tuning.splinter_bytes, 256_KiB);
}

TEST(ReadPlan, cold_file_keeps_the_device_busy) {
  const auto plan = plan_read(facts(1_GiB, Access::kDirect));
  ASSERT_TRUE(plan);
  EXPECT_GE(plan->tuning.queue_depth * plan->tuning.request_bytes, 4_MiB);
  EXPECT_GE(*plan->readahead_bytes, plan->tuning.queue_depth * plan->tuning.request_bytes);
}

TEST(ReadPlan, small_file_takes_little_memory) {
  const auto plan = plan_read(facts(1000, Access::kBuffered));
  ASSERT_TRUE(plan);
  EXPECT_LE(plan->budget_bytes, 128_KiB);
}

TEST(ReadPlan, huge_file_keeps_the_table_small) {
  const auto plan = plan_read(facts(1ULL << 42U, Access::kDirect));
  ASSERT_TRUE(plan);
  EXPECT_LE((1ULL << 42U) / plan->tuning.splinter_bytes, 1ULL << 20U);
}

// Their indexes wrapped around once, or their table used all memory.
TEST(ReadPlan, too_many_splinters_are_refused) {
  const auto plan =
      plan_read(facts(1ULL << 45U, Access::kBuffered), {.tuning = {.splinter_bytes = 4_KiB}});
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().kind(), ErrorClass::kInvalidArgument);
  EXPECT_NE(plan.error().message().find("splinter_bytes is 4096"), std::string::npos);
  EXPECT_TRUE(plan_read(facts(1ULL << 45U, Access::kBuffered)));
}

TEST(ReadPlan, budget_below_one_splinter_is_refused_with_both_numbers) {
  const auto plan = plan_read(facts(1_GiB, Access::kBuffered),
                              {.budget_bytes = 4096, .tuning = {.splinter_bytes = 1_MiB}});
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().kind(), ErrorClass::kInvalidArgument);
  EXPECT_NE(plan.error().message().find("4096"), std::string::npos);
  EXPECT_NE(plan.error().message().find("1048576"), std::string::npos);
}

TEST(ReadPlan, small_budget_gets_small_splinters) {
  const auto plan = plan_read(facts(1_GiB, Access::kBuffered), {.budget_bytes = 64_KiB});
  ASSERT_TRUE(plan) << plan.error().message();
  EXPECT_LE(plan->tuning.splinter_bytes * 4, plan->budget_bytes);
}

TEST(ReadPlan, budget_in_use_is_a_limit) {
  ReadFacts all_used = facts(1_GiB, Access::kBuffered);
  all_used.available_bytes = 1000;
  const auto plan = plan_read(all_used);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().kind(), ErrorClass::kLimit);
}

// The fifth session on a cold file was refused once: four had taken 16 MiB each.
TEST(ReadPlan, many_sessions_on_large_files_share_a_budget) {
  constexpr int kSessions = 35;
  for (const Access access : {Access::kDirect, Access::kBuffered}) {
    ReadFacts about = facts(4_GiB, access);
    about.total_bytes = about.available_bytes;
    for (int opened = 0; opened < kSessions; ++opened) {
      const auto plan = plan_read(about);
      ASSERT_TRUE(plan) << opened << ": " << plan.error().message();
      EXPECT_EQ(plan->tuning.splinter_bytes, 256_KiB);
      EXPECT_GE(plan->tuning.window_bytes, 4 * plan->tuning.splinter_bytes);
      about.available_bytes -= plan->tuning.window_bytes;
    }
  }
}

TEST(ReadPlan, known_storage_is_kept_busy) {
  ReadFacts about = facts(4_GiB, Access::kDirect);
  about.total_bytes = 64_MiB;
  about.request_bytes = 1_MiB;
  about.queue_depth = 12;
  const auto plan = plan_read(about);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->tuning.splinter_bytes, 1_MiB);
  EXPECT_EQ(plan->tuning.request_bytes, 1_MiB);
  EXPECT_EQ(plan->tuning.queue_depth, 12U);
  EXPECT_GE(plan->tuning.window_bytes, 15_MiB);
  EXPECT_NE(plan->reason.find("12 requests"), std::string::npos);
  // Cached bytes are not read from the storage.
  about.access = Access::kBuffered;
  about.is_cached = true;
  EXPECT_EQ(plan_read(about)->tuning.splinter_bytes, 256_KiB);
  EXPECT_EQ(plan_read(about)->tuning.window_bytes, 512_KiB);
}

TEST(ReadPlan, window_holds_the_requests_that_keep_a_known_storage_busy) {
  ReadFacts about = facts(4_GiB, Access::kDirect);
  about.available_bytes = 64_MiB;
  about.total_bytes = 64_MiB;
  about.request_bytes = 1_MiB;
  about.queue_depth = 14;
  EXPECT_EQ(plan_read(about)->tuning.window_bytes, 28_MiB);
  // Without the reserve for sessions of a few splinters.
  about.queue_depth = 24;
  EXPECT_EQ(plan_read(about)->tuning.window_bytes, 32_MiB);
}

TEST(ReadPlan, given_values_override_known_ones) {
  ReadFacts about = facts(4_GiB, Access::kDirect);
  about.request_bytes = 1_MiB;
  about.queue_depth = 12;
  const auto plan = plan_read(about, {.tuning = {.request_bytes = 128_KiB, .queue_depth = 3}});
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->tuning.request_bytes, 128_KiB);
  EXPECT_EQ(plan->tuning.queue_depth, 3U);
}

/// A plan for a storage that 12 requests of 1 MiB keep busy.
ReadPlan busy_plan(const ReadPlan& requested) {
  ReadFacts about = facts(4_GiB, Access::kDirect);
  about.request_bytes = 1_MiB;
  about.queue_depth = 12;
  about.stripe_count = 4;
  about.stripe_bytes = 4_MiB;
  about.storage_reason = "storage from the options: lustre";
  return plan_read(about, requested).value();
}

TEST(ReadPlan, other_request_sizes_keep_as_many_bytes_in_flight) {
  EXPECT_EQ(busy_plan({}).reason,
            "test; storage from the options: lustre; 12 requests of 1048576 bytes keep its "
            "storage busy");
  const ReadPlan small = busy_plan({.tuning = {.request_bytes = 128_KiB}});
  EXPECT_EQ(small.tuning.queue_depth, 96U);
  EXPECT_NE(small.reason.find("; 96 requests of 131072 bytes keep its storage busy"),
            std::string::npos);
  const ReadPlan large = busy_plan({.tuning = {.splinter_bytes = 4_MiB, .request_bytes = 4_MiB}});
  EXPECT_EQ(large.tuning.queue_depth, 4U) << "one for each server";
  EXPECT_EQ(busy_plan({.tuning = {.queue_depth = 3}}).reason,
            "test; storage from the options: lustre");
}

TEST(ReadPlan, reason_reports_too_few_requests_to_keep_a_storage_busy) {
  const ReadPlan poor = busy_plan({.budget_bytes = 1_MiB});
  EXPECT_EQ(poor.tuning.request_bytes, 256_KiB);
  EXPECT_EQ(poor.tuning.queue_depth, 4U);
  EXPECT_NE(poor.reason.find("; 4 requests of 262144 bytes are all that its budget can hold, "
                             "and 48 would keep its storage busy"),
            std::string::npos)
      << poor.reason;
  const ReadPlan tiny = busy_plan({.tuning = {.request_bytes = 4_KiB}});
  EXPECT_EQ(tiny.tuning.queue_depth, 256U);
  EXPECT_NE(tiny.reason.find("and 3072 would keep"), std::string::npos) << tiny.reason;
}

TEST(ReadPlan, known_stripes_are_used) {
  ReadFacts about = facts(4_GiB, Access::kDirect);
  EXPECT_EQ(plan_read(about)->tuning.stripe_count, 1U);
  about.stripe_bytes = 1_MiB;
  about.stripe_count = 4;
  EXPECT_EQ(plan_read(about)->tuning.stripe_bytes, 1_MiB);
  EXPECT_EQ(plan_read(about)->tuning.stripe_count, 4U);
  EXPECT_EQ(
      plan_read(about, {.tuning = {.stripe_bytes = 4_MiB, .stripe_count = 2}})->tuning.stripe_bytes,
      4_MiB);
  EXPECT_EQ(plan_read(about, {.tuning = {.stripe_count = 1}})->tuning.stripe_count, 1U);
  about.is_cached = true;
  EXPECT_EQ(plan_read(about)->tuning.stripe_count, 1U);
  const auto halved = plan_read(about, {.tuning = {.stripe_count = 2}});
  ASSERT_FALSE(halved);
  EXPECT_EQ(halved.error().kind(), ErrorClass::kInvalidArgument);
}

TEST(ReadPlan, windows_shrink_in_steps_and_the_reason_reports_it) {
  ReadFacts about = facts(4_GiB, Access::kDirect);
  about.total_bytes = 64_MiB;
  const auto window = [&](std::uint64_t available) {
    about.available_bytes = available;
    return plan_read(about)->tuning.window_bytes;
  };
  EXPECT_EQ(window(64_MiB), 16_MiB);
  EXPECT_EQ(plan_read(about)->reason, "test");
  EXPECT_EQ(window(63_MiB), 15_MiB + 512_KiB);
  EXPECT_EQ(plan_read(about)->reason, "test");
  EXPECT_EQ(window(48_MiB), 8_MiB);
  EXPECT_NE(plan_read(about)->reason, "test");
  EXPECT_EQ(window(40_MiB), 8_MiB);
  EXPECT_EQ(window(32_MiB), 1_MiB);
  EXPECT_EQ(window(1_MiB), 1_MiB);
  EXPECT_EQ(window(512_KiB), 512_KiB);
  EXPECT_NE(plan_read(about)->reason.find("524288"), std::string::npos);
}

TEST(ReadPlan, given_window_that_fits_is_not_reduced) {
  ReadFacts about = facts(4_GiB, Access::kDirect);
  about.total_bytes = 1_GiB;
  EXPECT_EQ(plan_read(about, {.tuning = {.window_bytes = 64_MiB}})->tuning.window_bytes, 64_MiB);
}

TEST(ReadPlan, session_without_a_budget_leaves_memory_to_others) {
  ReadFacts about = facts(4_GiB, Access::kBuffered);
  about.total_bytes = 64_MiB;
  about.available_bytes = 64_MiB;
  EXPECT_EQ(plan_read(about)->budget_bytes, 56_MiB);
  EXPECT_EQ(plan_read(about, {.budget_bytes = 64_MiB})->budget_bytes, 64_MiB);
  about.available_bytes = 8_MiB;
  EXPECT_EQ(plan_read(about)->budget_bytes, 1_MiB);
}

TEST(ReadPlan, splinter_must_be_a_power_of_two_in_range) {
  for (const std::uint64_t bad : {1000ULL, 2048ULL, 3ULL << 20U, 1ULL << 30U}) {
    const auto plan =
        plan_read(facts(1_GiB, Access::kBuffered), {.tuning = {.splinter_bytes = bad}});
    ASSERT_FALSE(plan) << bad;
    EXPECT_EQ(plan.error().kind(), ErrorClass::kInvalidArgument);
  }
}

TEST(ReadPlan, function_on_the_agent_needs_one_agent_for_the_node) {
  ReadFacts about = facts(1_GiB, Access::kBuffered);
  about.ranks_on_node = 4;
  EXPECT_EQ(choose_agent_scope(about, {}), AgentScope::kPerRank);
  const ReadPlan requested{.pre_execution_mode = PreExecutionMode::kAgent};
  EXPECT_EQ(choose_agent_scope(about, requested), AgentScope::kPerNode);
}

TEST(ReadPlan, random_requested_values_give_consistent_plans) {
  std::mt19937_64 random(7);
  const auto pick = [&](std::initializer_list<std::uint64_t> values) {
    return values.begin()[random() % values.size()];
  };
  for (int round = 0; round < 20'000; ++round) {
    ReadFacts about;
    about.extent = {random() % 5000, random() >> (random() % 60)};
    about.access = random() % 2 == 0 ? Access::kBuffered : Access::kDirect;
    about.alignment_bytes = pick({1, 512, 4096, 65536});
    about.available_bytes = pick({0, 5000, 300'000, 64_MiB, 4_GiB});
    about.total_bytes = pick({0, 300'000, 64_MiB, 4_GiB});
    ReadPlan requested;
    requested.tuning.splinter_bytes = pick({0, 0, 4096, 65536, 1_MiB, 12345});
    requested.budget_bytes = pick({0, 0, 1, 70'000, 8_MiB});
    requested.tuning.window_bytes = pick({0, 0, 1, 1_MiB, 1_GiB});
    requested.tuning.request_bytes = pick({0, 0, 512, 100'000, 1_GiB});
    const auto plan = plan_read(about, requested);
    if (!plan) continue;
    ASSERT_TRUE(std::has_single_bit(plan->tuning.splinter_bytes));
    ASSERT_EQ(plan->budget_bytes % plan->tuning.splinter_bytes, 0U);
    ASSERT_EQ(plan->tuning.window_bytes % plan->tuning.splinter_bytes, 0U);
    ASSERT_GE(plan->tuning.window_bytes, plan->tuning.splinter_bytes);
    ASSERT_LE(plan->tuning.window_bytes, plan->budget_bytes);
    ASSERT_LE(plan->budget_bytes, about.available_bytes);
    ASSERT_GE(plan->tuning.request_bytes, 1U);
    ASSERT_LE(plan->tuning.request_bytes, plan->tuning.splinter_bytes);
    ASSERT_GE(plan->tuning.queue_depth, 1U);
  }
}

}  // namespace
}  // namespace forebay
