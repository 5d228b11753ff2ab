// SPDX-License-Identifier: Apache-2.0
// Transfers played through: worked out by hand, and what locks do to a plan that ignores them.
#include "model/played_transfer.hpp"

#include <gtest/gtest.h>

#include "model/testing.hpp"

namespace forebay::model {
namespace {

/// Two servers of 1 ms a request, and a lock for each MiB that takes 0.5 ms to change hands.
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

TEST(PlayedTransfer, of_nothing_takes_no_time) {
  EXPECT_EQ(played_transfer_time(two_servers(), plan_of(RequestKind::kRead, 0)), us(0));
}

TEST(PlayedTransfer, with_one_request_in_flight_is_a_sum_of_answers) {
  const TransferPlan plan = plan_of(RequestKind::kRead, 1_MiB + 1);
  EXPECT_EQ(played_transfer_time(two_servers(), plan), us(5000));
}

TEST(PlayedTransfer, with_several_in_flight_fills_the_places) {
  TransferPlan plan = plan_of(RequestKind::kRead, 4_MiB);
  plan.agents = 2;
  plan.depth = 2;
  EXPECT_EQ(played_transfer_time(two_servers(), plan), us(4000));
}

TEST(PlayedTransfer, by_several_writers_of_one_stripe_waits_for_locks) {
  TransferPlan plan = plan_of(RequestKind::kWrite, 4_MiB);
  plan.agents = 4;
  EXPECT_EQ(played_transfer_time(two_servers(), plan), us(4000));
  // Each stripe goes through the hands of four clients, and the next is begun meanwhile by one.
  plan.clients = 4;
  EXPECT_GE(played_transfer_time(two_servers(), plan), us(6000));
  plan.request_bytes = 1_MiB;
  EXPECT_EQ(played_transfer_time(two_servers(), plan), us(1000));
}

TEST(PlayedTransfer, by_server_keeps_all_of_them_busy_where_the_order_of_the_file_does_not) {
  TransferPlan plan = plan_of(RequestKind::kRead, 4_MiB);
  plan.depth = 2;
  // Two quarters of one stripe at a time: the other server has nothing to do.
  plan.layout.stripe_bytes = 2_MiB;
  const Time of_file = played_transfer_time(two_servers(), plan);
  plan.order = AskingOrder::kByServer;
  EXPECT_EQ(played_transfer_time(two_servers(), plan), us(8000)) << "eight quarters on each";
  EXPECT_LE(played_transfer_time(two_servers(), plan), of_file);
}

TEST(PlayedTransfer, by_server_reads_every_byte_of_a_file_that_ends_anywhere) {
  TransferPlan plan = plan_of(RequestKind::kRead, 5_MiB + 100_KiB);
  plan.order = AskingOrder::kByServer;
  plan.depth = 2;
  // The first server has stripes 0, 2, 4, the second 1, 3 and what is left.
  EXPECT_EQ(played_transfer_time(two_servers(), plan), us(12'000));
}

TEST(PlayedTransfer, waits_for_who_is_late_to_ask_again) {
  TransferPlan plan = plan_of(RequestKind::kRead, 1_MiB);
  plan.turnaround_us = 500;
  EXPECT_EQ(played_transfer_time(two_servers(), plan), us(4 * 1000 + 3 * 500));
}

}  // namespace
}  // namespace forebay::model
