// SPDX-License-Identifier: Apache-2.0
// Simulated transfers: computed by hand, and with locks that a plan ignores.
#include "model/transfer_simulation.hpp"

#include <gtest/gtest.h>

#include "model/testing.hpp"

namespace forebay::model {
namespace {

/// Two servers of 1 ms per request, and a lock for each MiB that takes 0.5 ms to change its holder.
Machine two_servers() {
  Machine machine = plain_machine();
  machine.client.count = 4;
  machine.servers.front().count = 2;
  machine.locks = {.unit = LockUnit::kStripe, .change_us = 500};
  return machine;
}

TransferPlan plan_of(RequestKind kind, std::uint64_t bytes) {
  return {.kind = kind,
          .bytes = bytes,
          .request_bytes = 256_KiB,
          .layout = {.stripe_bytes = 1_MiB, .stripe_count = 2}};
}

TEST(TransferSimulation, empty_transfer_takes_no_time) {
  EXPECT_EQ(simulate_transfer(two_servers(), plan_of(RequestKind::kRead, 0)), us(0));
}

TEST(TransferSimulation, one_request_in_flight_is_a_sum_of_response_times) {
  const TransferPlan plan = plan_of(RequestKind::kRead, 1_MiB + 1);
  EXPECT_EQ(simulate_transfer(two_servers(), plan), us(5000));
}

TEST(TransferSimulation, several_requests_in_flight_fill_the_slots) {
  TransferPlan plan = plan_of(RequestKind::kRead, 4_MiB);
  plan.agents = 2;
  plan.depth = 2;
  EXPECT_EQ(simulate_transfer(two_servers(), plan), us(4000));
}

TEST(TransferSimulation, several_writers_of_one_stripe_wait_for_locks) {
  TransferPlan plan = plan_of(RequestKind::kWrite, 4_MiB);
  plan.agents = 4;
  EXPECT_EQ(simulate_transfer(two_servers(), plan), us(4000));
  // Four clients hold each stripe's lock in turn; meanwhile one of them begins the next stripe.
  plan.clients = 4;
  EXPECT_GE(simulate_transfer(two_servers(), plan), us(6000));
  plan.request_bytes = 1_MiB;
  EXPECT_EQ(simulate_transfer(two_servers(), plan), us(1000));
}

TEST(TransferSimulation, order_by_server_keeps_all_servers_busy) {
  TransferPlan plan = plan_of(RequestKind::kRead, 4_MiB);
  plan.depth = 2;
  // Two quarters of one stripe at a time: the other server is idle.
  plan.layout.stripe_bytes = 2_MiB;
  const Time of_file = simulate_transfer(two_servers(), plan);
  plan.order = RequestOrder::kByServer;
  EXPECT_EQ(simulate_transfer(two_servers(), plan), us(8000)) << "eight quarters on each server";
  EXPECT_LE(simulate_transfer(two_servers(), plan), of_file);
}

TEST(TransferSimulation, order_by_server_reads_every_byte_of_a_file) {
  TransferPlan plan = plan_of(RequestKind::kRead, 5_MiB + 100_KiB);
  plan.order = RequestOrder::kByServer;
  plan.depth = 2;
  // The first server has stripes 0, 2, 4, the second 1, 3 and the rest.
  EXPECT_EQ(simulate_transfer(two_servers(), plan), us(12'000));
}

TEST(TransferSimulation, late_clients_delay_the_transfer) {
  TransferPlan plan = plan_of(RequestKind::kRead, 1_MiB);
  plan.think_time_us = 500;
  EXPECT_EQ(simulate_transfer(two_servers(), plan), us(4 * 1000 + 3 * 500));
}

}  // namespace
}  // namespace forebay::model
