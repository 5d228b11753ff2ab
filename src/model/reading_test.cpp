// SPDX-License-Identifier: Apache-2.0
#include "model/reading.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "model/played_transfer.hpp"
#include "model/queueing.hpp"

namespace forebay::model {
namespace {

Machine machine(ServerGroup server) {
  Machine machine;
  server.write_latency_us = server.latency_us;
  server.write_bandwidth_mb_per_s = server.bandwidth_mb_per_s;
  machine.servers = {server};
  return machine;
}

/// Seconds that reading so takes.
double time_s(const Machine& machine,
              const Layout& layout,
              std::uint64_t bytes,
              TransferAdvice how) {
  return 1e-6 * transfer_time_us(machine, {.bytes = bytes,
                                           .depth = how.requests,
                                           .request_bytes = how.request_bytes,
                                           .layout = layout});
}

/// Seconds that reading so takes, played through, when each answer is `turnaround_us` old before
/// the next request is made.
double played_s(const Machine& machine,
                const TransferPlan& what,
                TransferAdvice how,
                double turnaround_us) {
  TransferPlan plan = what;
  plan.depth = how.requests;
  plan.request_bytes = how.request_bytes;
  plan.order = AskingOrder::kByServer;
  plan.turnaround_us = turnaround_us;
  return std::chrono::duration<double>(played_transfer_time(machine, plan)).count();
}

/// What no request size and no number of them gets below, within this memory.
double best_s(const Machine& machine,
              const TransferPlan& what,
              std::uint64_t memory,
              double turnaround_us) {
  double best = std::numeric_limits<double>::infinity();
  for (std::uint64_t request = 64_KiB; request <= 1_MiB; request *= 2) {
    for (std::uint32_t depth = 1; depth * request <= memory; depth *= 2)
      best = std::min(best, played_s(machine, what, {request, depth}, turnaround_us));
  }
  return best;
}

class ReadingShipped : public ::testing::TestWithParam<const char*> {
 protected:
  static constexpr std::uint64_t kMemory = 16_MiB;
  static Machine machine() {
    const std::vector<std::filesystem::path> folders = {std::filesystem::path(FOREBAY_SOURCE_DIR) /
                                                        "machines"};
    auto machine = load_machine(GetParam(), folders);
    EXPECT_TRUE(machine) << machine.error().message();
    return std::move(machine).value_or(Machine{});
  }
};

TEST_P(ReadingShipped, comes_near_the_best_of_all_plans_whatever_the_size) {
  const Machine there = machine();
  for (const std::uint64_t bytes : {1_MiB, 10_MiB, 64_MiB, 256_MiB}) {
    const TransferPlan what{.bytes = bytes, .layout = layout_of_new_file(there, 0)};
    const TransferAdvice how = advise_reading(there, what.layout, bytes, kMemory);
    EXPECT_LE(how.requests * how.request_bytes, kMemory);
    // Readers that ask again at once, and readers on a busy node.
    for (const double turnaround_us : {100.0, 3000.0}) {
      EXPECT_LE(played_s(there, what, how, turnaround_us),
                1.1 * best_s(there, what, kMemory, turnaround_us))
          << bytes << " bytes, " << how.requests << " x " << how.request_bytes << ", "
          << turnaround_us << " us";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Machines,
                         ReadingShipped,
                         ::testing::Values("nfs", "lustre-small", "gpfs-small", "pvfs-small"),
                         [](const auto& one) {
                           std::string name = one.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST(Reading, keeps_all_servers_busy) {
  const Machine lustre =
      machine({.count = 4, .latency_us = 1000, .concurrency = 4, .bandwidth_mb_per_s = 125});
  const Layout layout{.stripe_bytes = 1_MiB, .stripe_count = 4};
  const TransferAdvice how = advise_reading(lustre, layout, 1_GiB, 64_MiB);
  EXPECT_EQ(how.request_bytes, 1_MiB);
  EXPECT_GE(how.requests, 8U);
  EXPECT_LE(how.requests, 32U);
  const double ideal_s = 1073741824.0 / 500e6;
  EXPECT_LE(time_s(lustre, layout, 1_GiB, how), 1.02 * ideal_s);
}

TEST(Reading, hides_a_long_latency_by_many_requests) {
  const Machine nfs = machine({.latency_us = 5000, .concurrency = 16, .bandwidth_mb_per_s = 200});
  const TransferAdvice how = advise_reading(nfs, {}, 1_GiB, 64_MiB);
  const double ideal_s = 1073741824.0 / 200e6;
  EXPECT_LE(time_s(nfs, {}, 1_GiB, how), 1.02 * ideal_s);
}

TEST(Reading, cuts_a_short_file_so_that_all_servers_have_some) {
  const Machine slow =
      machine({.count = 1, .latency_us = 100, .concurrency = 64, .bandwidth_mb_per_s = 0});
  const TransferAdvice how = advise_reading(slow, {}, 4_MiB, 64_MiB);
  EXPECT_GE(how.requests * how.request_bytes, 4_MiB) << "all of it at once";
}

TEST(Reading, stays_within_its_memory) {
  const Machine lustre =
      machine({.count = 64, .latency_us = 20000, .concurrency = 64, .bandwidth_mb_per_s = 1000});
  const Layout layout{.stripe_bytes = 1_MiB, .stripe_count = 64};
  for (const std::uint64_t memory : {64_KiB, 1_MiB, 8_MiB, 64_MiB}) {
    const TransferAdvice how = advise_reading(lustre, layout, 1_GiB, memory);
    EXPECT_LE(how.requests * how.request_bytes, memory);
    EXPECT_GE(how.requests, 1U);
  }
}

TEST(Reading, of_less_memory_than_one_request_has_no_advice) {
  const Machine one = machine({.latency_us = 500, .concurrency = 4, .bandwidth_mb_per_s = 400});
  for (const std::uint64_t memory : {std::uint64_t{0}, std::uint64_t{1}, 4_KiB, 64_KiB - 1})
    EXPECT_EQ(advise_reading(one, {}, 1_GiB, memory), TransferAdvice{}) << memory;
  EXPECT_NE(advise_reading(one, {}, 1_GiB, 64_KiB), TransferAdvice{});
}

TEST(Reading, never_asks_two_servers_with_one_request) {
  const Machine small_stripes =
      machine({.count = 8, .latency_us = 500, .concurrency = 4, .bandwidth_mb_per_s = 400});
  const Layout layout{.stripe_bytes = 128_KiB, .stripe_count = 8};
  EXPECT_LE(advise_reading(small_stripes, layout, 1_GiB, 64_MiB).request_bytes, 128_KiB);
}

/// Two ranks of a node whose cores were taken by others: with 3 requests under way they needed
/// twice the time of the best plan.
TEST(Reading, has_enough_under_way_for_readers_that_are_late) {
  const Machine nfs = machine({.latency_us = 5000, .concurrency = 16, .bandwidth_mb_per_s = 200});
  const TransferAdvice how = advise_reading(nfs, {}, 64_MiB, 16_MiB);
  const TransferPlan what{.bytes = 64_MiB, .layout = {}};
  EXPECT_LE(played_s(nfs, what, how, 10'000), 1.01 * played_s(nfs, what, how, 0));
}

/// In the order of the file 64 requests of 256 KiB lie on four of eight servers at a time.
TEST(Reading, needs_no_whole_round_of_large_stripes_under_way) {
  const Machine gpfs =
      machine({.count = 8, .latency_us = 1000, .concurrency = 4, .bandwidth_mb_per_s = 167});
  const Layout layout{.stripe_bytes = 4_MiB, .stripe_count = 8};
  const TransferAdvice how = advise_reading(gpfs, layout, 1_GiB, 16_MiB);
  EXPECT_GE(how.request_bytes, 256_KiB);
  EXPECT_EQ(how.requests % 8, 0U) << "as many for each";
  const TransferPlan what{.bytes = 256_MiB, .layout = layout};
  EXPECT_LE(played_s(gpfs, what, how, 100), 1.03 * 268435456.0 / (8 * 167e6));
}

TEST(Reading, makes_sense_where_nothing_costs_anything) {
  const TransferAdvice how = advise_reading(machine({}), {}, 1_GiB, 64_MiB);
  EXPECT_EQ(how.request_bytes, 1_MiB);
  EXPECT_GE(how.requests, 1U);
  EXPECT_GE(advise_reading(machine({}), {}, 0, 64_MiB).requests, 1U);
}

TEST(Writing, has_as_much_under_way_as_keeps_all_servers_busy) {
  Machine far =
      machine({.count = 8, .latency_us = 20'000, .concurrency = 64, .bandwidth_mb_per_s = 1000});
  const TransferAdvice how = advise_writing(far, 256_MiB);
  EXPECT_GE(how.requests * how.request_bytes, 160'000'000U) << "what they take in their latency";
  EXPECT_LE(how.requests * how.request_bytes, 256_MiB);
  far.servers.front().write_latency_us = 100;
  const TransferAdvice near = advise_writing(far, 256_MiB);
  EXPECT_LT(near.requests * near.request_bytes, how.requests * how.request_bytes);
}

TEST(Writing, has_no_advice_where_bandwidth_has_no_limit) {
  EXPECT_EQ(advise_writing(machine({}), 256_MiB), TransferAdvice{});
}

}  // namespace
}  // namespace forebay::model
