// SPDX-License-Identifier: Apache-2.0
#include "model/transfer_advice.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "model/queueing.hpp"
#include "model/transfer_simulation.hpp"

namespace forebay::model {
namespace {

Machine machine(ServerGroup server) {
  Machine machine;
  server.write_latency_us = server.latency_us;
  server.write_bandwidth_mb_per_s = server.bandwidth_mb_per_s;
  machine.servers = {server};
  return machine;
}

/// Time of reading with this advice, in seconds.
double time_s(const Machine& machine,
              const Layout& layout,
              std::uint64_t bytes,
              TransferAdvice how) {
  return 1e-6 * transfer_time_us(machine, {.bytes = bytes,
                                           .depth = how.requests,
                                           .request_bytes = how.request_bytes,
                                           .layout = layout});
}

/// Simulated time of reading with this advice, in seconds, if the next request follows each
/// completion after `think_time_us`.
double simulated_s(const Machine& machine,
                   const TransferPlan& what,
                   TransferAdvice how,
                   double think_time_us) {
  TransferPlan plan = what;
  plan.depth = how.requests;
  plan.request_bytes = how.request_bytes;
  plan.order = RequestOrder::kByServer;
  plan.think_time_us = think_time_us;
  return std::chrono::duration<double>(simulate_transfer(machine, plan)).count();
}

/// The best time of all request sizes and numbers of requests, within this memory.
double best_s(const Machine& machine,
              const TransferPlan& what,
              std::uint64_t memory,
              double think_time_us) {
  double best = std::numeric_limits<double>::infinity();
  for (std::uint64_t request = 64_KiB; request <= 1_MiB; request *= 2) {
    for (std::uint32_t depth = 1; depth * request <= memory; depth *= 2)
      best = std::min(best, simulated_s(machine, what, {request, depth}, think_time_us));
  }
  return best;
}

class ShippedMachineAdvice : public ::testing::TestWithParam<const char*> {
 protected:
  static constexpr std::uint64_t kMemory = 16_MiB;
  static Machine machine() {
    const std::vector<std::filesystem::path> directories = {
        std::filesystem::path(FOREBAY_SOURCE_DIR) / "machines"};
    auto machine = load_machine(GetParam(), directories);
    EXPECT_TRUE(machine) << machine.error().message();
    return std::move(machine).value_or(Machine{});
  }
};

TEST_P(ShippedMachineAdvice, is_near_the_best_plan_for_all_sizes) {
  const Machine there = machine();
  for (const std::uint64_t bytes : {1_MiB, 10_MiB, 64_MiB, 256_MiB}) {
    const TransferPlan what{.bytes = bytes, .layout = layout_of_new_file(there, 0)};
    const TransferAdvice how = advise_reading(there, what.layout, bytes, kMemory);
    EXPECT_LE(how.requests * how.request_bytes, kMemory);
    // Readers that send the next request at once, and readers on a busy node.
    for (const double think_time_us : {100.0, 3000.0}) {
      EXPECT_LE(simulated_s(there, what, how, think_time_us),
                1.1 * best_s(there, what, kMemory, think_time_us))
          << bytes << " bytes, " << how.requests << " x " << how.request_bytes << ", "
          << think_time_us << " us";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Machines,
                         ShippedMachineAdvice,
                         ::testing::Values("nfs", "lustre-small", "gpfs-small", "pvfs-small"),
                         [](const auto& one) {
                           std::string name = one.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST(AdviseReading, keeps_all_servers_busy) {
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

TEST(AdviseReading, hides_a_long_latency_by_many_requests) {
  const Machine nfs = machine({.latency_us = 5000, .concurrency = 16, .bandwidth_mb_per_s = 200});
  const TransferAdvice how = advise_reading(nfs, {}, 1_GiB, 64_MiB);
  const double ideal_s = 1073741824.0 / 200e6;
  EXPECT_LE(time_s(nfs, {}, 1_GiB, how), 1.02 * ideal_s);
}

TEST(AdviseReading, splits_a_short_file_over_all_servers) {
  const Machine slow =
      machine({.count = 1, .latency_us = 100, .concurrency = 64, .bandwidth_mb_per_s = 0});
  const TransferAdvice how = advise_reading(slow, {}, 4_MiB, 64_MiB);
  EXPECT_GE(how.requests * how.request_bytes, 4_MiB) << "the whole file at once";
}

TEST(AdviseReading, stays_within_its_memory) {
  const Machine lustre =
      machine({.count = 64, .latency_us = 20000, .concurrency = 64, .bandwidth_mb_per_s = 1000});
  const Layout layout{.stripe_bytes = 1_MiB, .stripe_count = 64};
  for (const std::uint64_t memory : {64_KiB, 1_MiB, 8_MiB, 64_MiB}) {
    const TransferAdvice how = advise_reading(lustre, layout, 1_GiB, memory);
    EXPECT_LE(how.requests * how.request_bytes, memory);
    EXPECT_GE(how.requests, 1U);
  }
}

TEST(AdviseReading, memory_below_one_request_has_no_advice) {
  const Machine one = machine({.latency_us = 500, .concurrency = 4, .bandwidth_mb_per_s = 400});
  for (const std::uint64_t memory : {std::uint64_t{0}, std::uint64_t{1}, 4_KiB, 64_KiB - 1})
    EXPECT_EQ(advise_reading(one, {}, 1_GiB, memory), TransferAdvice{}) << memory;
  EXPECT_NE(advise_reading(one, {}, 1_GiB, 64_KiB), TransferAdvice{});
}

TEST(AdviseReading, request_never_spans_two_servers) {
  const Machine small_stripes =
      machine({.count = 8, .latency_us = 500, .concurrency = 4, .bandwidth_mb_per_s = 400});
  const Layout layout{.stripe_bytes = 128_KiB, .stripe_count = 8};
  EXPECT_LE(advise_reading(small_stripes, layout, 1_GiB, 64_MiB).request_bytes, 128_KiB);
}

/// Two ranks of a node whose cores were used by other programs: with 3 requests in flight they
/// needed twice the time of the best plan.
TEST(AdviseReading, has_spare_requests_for_late_readers) {
  const Machine nfs = machine({.latency_us = 5000, .concurrency = 16, .bandwidth_mb_per_s = 200});
  const TransferAdvice how = advise_reading(nfs, {}, 64_MiB, 16_MiB);
  const TransferPlan what{.bytes = 64_MiB, .layout = {}};
  EXPECT_LE(simulated_s(nfs, what, how, 10'000), 1.01 * simulated_s(nfs, what, how, 0));
}

/// In file order, 64 requests of 256 KiB are on four of eight servers at a time.
TEST(AdviseReading, large_stripes_need_no_whole_round_in_flight) {
  const Machine gpfs =
      machine({.count = 8, .latency_us = 1000, .concurrency = 4, .bandwidth_mb_per_s = 167});
  const Layout layout{.stripe_bytes = 4_MiB, .stripe_count = 8};
  const TransferAdvice how = advise_reading(gpfs, layout, 1_GiB, 16_MiB);
  EXPECT_GE(how.request_bytes, 256_KiB);
  EXPECT_EQ(how.requests % 8, 0U) << "the same number for each";
  const TransferPlan what{.bytes = 256_MiB, .layout = layout};
  EXPECT_LE(simulated_s(gpfs, what, how, 100), 1.03 * 268435456.0 / (8 * 167e6));
}

TEST(AdviseReading, machine_without_costs_gets_valid_advice) {
  const TransferAdvice how = advise_reading(machine({}), {}, 1_GiB, 64_MiB);
  EXPECT_EQ(how.request_bytes, 1_MiB);
  EXPECT_GE(how.requests, 1U);
  EXPECT_GE(advise_reading(machine({}), {}, 0, 64_MiB).requests, 1U);
}

TEST(AdviseWriting, keeps_all_servers_busy) {
  Machine far =
      machine({.count = 8, .latency_us = 20'000, .concurrency = 64, .bandwidth_mb_per_s = 1000});
  const TransferAdvice how = advise_writing(far, 256_MiB);
  EXPECT_GE(how.requests * how.request_bytes, 160'000'000U)
      << "bytes in flight during their latency";
  EXPECT_LE(how.requests * how.request_bytes, 256_MiB);
  far.servers.front().write_latency_us = 100;
  const TransferAdvice near = advise_writing(far, 256_MiB);
  EXPECT_LT(near.requests * near.request_bytes, how.requests * how.request_bytes);
}

TEST(AdviseWriting, unlimited_bandwidth_has_no_advice) {
  EXPECT_EQ(advise_writing(machine({}), 256_MiB), TransferAdvice{});
}

}  // namespace
}  // namespace forebay::model
