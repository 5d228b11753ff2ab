// SPDX-License-Identifier: Apache-2.0
// The closed forms compared with the event model over a grid, within 0.1 %, and with numbers
// computed by hand.
#include "model/queueing.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "model/testing.hpp"
#include "model/transfer_simulation.hpp"

namespace forebay::model {
namespace {

constexpr double kAgreement = 0.001;

double us_of(Time time) { return static_cast<double>(time.count()) / 1000; }

ServerGroup server_of(std::uint32_t servers, std::uint32_t concurrency, bool overlaps) {
  return {.count = servers,
          .latency_us = 1000,
          .concurrency = concurrency,
          .bandwidth_mb_per_s = 125,
          .latency_overlaps = overlaps,
          .write_latency_us = 700,
          .write_bandwidth_mb_per_s = 80};
}

struct Point {
  std::uint32_t clients;
  std::uint64_t part_bytes;
  ServerGroup server;
  RequestKind kind;
};

/// The mean response time of the model in its steady state, over whole rounds.
double measured_us(const Point& point) {
  Machine machine = plain_machine();
  machine.servers = {point.server};
  machine.client.count = point.clients;
  StorageModel model(machine);
  const std::uint32_t servers = point.server.count;
  const Layout layout{.stripe_bytes = point.part_bytes, .stripe_count = servers};
  ClosedLoop loop(model, [&](ClientId client) {
    return Request{.client = client,
                   .kind = point.kind,
                   .range = {0, servers * point.part_bytes},
                   .layout = layout};
  });
  const std::size_t round = std::min(point.clients, point.server.concurrency);
  const std::size_t before = std::size_t{4} * (point.clients + point.server.concurrency);
  const std::size_t counted = 16 * round;
  const auto answers = loop.run(point.clients, before + counted);
  double sum_us = 0;
  for (std::size_t i = before; i < before + counted; ++i)
    sum_us += us_of(answers.at(i).finished - answers.at(i).submitted);
  return sum_us / static_cast<double>(counted);
}

void expect_agreement(const Point& point) {
  const double formula_us = response_time_us(
      point.server, {point.kind, point.part_bytes, static_cast<double>(point.clients)});
  EXPECT_NEAR(measured_us(point) / formula_us, 1, kAgreement)
      << point.clients << " clients, " << point.part_bytes << " bytes, " << point.server.count
      << " servers, " << point.server.concurrency << " at once, "
      << (point.server.latency_overlaps ? "overlapping" : "not overlapping");
}

class Grid : public ::testing::TestWithParam<std::tuple<std::uint32_t, bool, RequestKind>> {};

TEST_P(Grid, model_and_formula_agree) {
  const auto [servers, overlaps, kind] = GetParam();
  for (const std::uint32_t clients : {1U, 2U, 3U, 5U, 8U, 16U, 33U, 64U}) {
    for (const std::uint64_t bytes : {4_KiB, 64_KiB, 1_MiB}) {
      for (const std::uint32_t concurrency : {1U, 3U, 4U, 16U})
        expect_agreement({clients, bytes, server_of(servers, concurrency, overlaps), kind});
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Servers,
                         Grid,
                         ::testing::Combine(::testing::Values(1U, 2U, 8U),
                                            ::testing::Bool(),
                                            ::testing::Values(RequestKind::kRead,
                                                              RequestKind::kWrite)));

TEST(ResponseTime, clients_spread_over_servers_act_as_a_share) {
  Machine machine = plain_machine();
  machine.servers = {server_of(8, 3, true)};
  machine.client.count = 40;
  StorageModel model(machine);
  const Layout layout{.stripe_bytes = 64_KiB, .stripe_count = 8};
  ClosedLoop loop(model, [&](ClientId client) {
    return Request{.client = client, .range = {client * 64_KiB, 64_KiB}, .layout = layout};
  });
  constexpr std::size_t kWarm = 1200;
  const auto answers = loop.run(40, 2 * kWarm);
  double sum_us = 0;
  for (std::size_t i = kWarm; i < 2 * kWarm; ++i)
    sum_us += us_of(answers[i].finished - answers[i].submitted);
  const double formula_us =
      response_time_us(machine.server(0), {.request_bytes = 64_KiB, .in_flight = 5});
  EXPECT_NEAR(sum_us / kWarm / formula_us, 1, kAgreement);
}

TEST(ResponseTime, formula_gives_the_numbers_of_the_page) {
  const ServerGroup server = server_of(1, 4, true);
  const double transfer_us = static_cast<double>(1_MiB) / 125;  // 8388.6: the channel decides
  EXPECT_DOUBLE_EQ(response_time_us(server, {.in_flight = 1}), 1000 + transfer_us);
  EXPECT_DOUBLE_EQ(response_time_us(server, {.in_flight = 4}), 4 * transfer_us);
  EXPECT_DOUBLE_EQ(response_time_us(server, {.in_flight = 8}), 8 * transfer_us);
  const double small_us = 4096.0 / 125;  // here the latency decides
  EXPECT_DOUBLE_EQ(response_time_us(server, {.request_bytes = 4_KiB, .in_flight = 4}),
                   1000 + small_us);
  EXPECT_DOUBLE_EQ(response_time_us(server, {.request_bytes = 4_KiB, .in_flight = 16}),
                   4 * (1000 + small_us));
  const ServerGroup serial = server_of(1, 4, false);
  EXPECT_DOUBLE_EQ(response_time_us(serial, {.request_bytes = 4_KiB, .in_flight = 16}),
                   16 * (1000 + small_us));
}

TEST(Rate, is_at_most_the_bandwidth) {
  const ServerGroup server = server_of(1, 4, true);
  EXPECT_DOUBLE_EQ(rate_mb_per_s(server, {.in_flight = 4}), 125);
  EXPECT_NEAR(rate_mb_per_s(server, {.request_bytes = 4_KiB, .in_flight = 4}),
              4 * 4096 / (1000 + 4096.0 / 125), 1e-9);
}

TEST(Limits, are_sums_of_servers_or_links) {
  Machine machine = plain_machine();
  machine.servers = {server_of(4, 4, true), server_of(2, 4, true)};
  EXPECT_DOUBLE_EQ(storage_limit_mb_per_s(machine, RequestKind::kRead), 750);
  EXPECT_DOUBLE_EQ(storage_limit_mb_per_s(machine, RequestKind::kWrite), 480);
  machine.client = {.count = 2, .link_bandwidth_mb_per_s = 100};
  EXPECT_DOUBLE_EQ(storage_limit_mb_per_s(machine, RequestKind::kRead), 200);
  EXPECT_TRUE(std::isinf(storage_limit_mb_per_s(plain_machine(), RequestKind::kRead)));
}

TEST(Limits, of_names_are_slots_divided_by_cost) {
  Machine machine = plain_machine();
  machine.metadata = {.servers = 2, .concurrency = 3, .create_us = 500};
  EXPECT_DOUBLE_EQ(metadata_operations_per_s(machine, RequestKind::kCreate, 10), 12'000);
  EXPECT_DOUBLE_EQ(metadata_operations_per_s(machine, RequestKind::kCreate, 1), 4000);
  EXPECT_TRUE(std::isinf(metadata_operations_per_s(machine, RequestKind::kOpen, 1)));
}

Machine lustre_like() {
  Machine machine = plain_machine();
  machine.servers = {server_of(4, 4, true)};
  machine.client.count = 4;
  return machine;
}

double agreement(const Machine& machine, const TransferPlan& plan) {
  return us_of(simulate_transfer(machine, plan)) / transfer_time_us(machine, plan);
}

TEST(TransferTime, is_exact_for_even_plans) {
  const Machine machine = lustre_like();
  const Layout layout{.stripe_bytes = 1_MiB, .stripe_count = 4};
  for (const std::uint32_t agents : {1U, 2U, 4U}) {
    for (const std::uint32_t depth : {4U, 8U, 16U}) {
      TransferPlan plan{.bytes = 256_MiB, .agents = agents, .depth = depth, .layout = layout};
      EXPECT_NEAR(agreement(machine, plan), 1, kAgreement) << agents << " x " << depth;
      plan.request_bytes = 4_MiB;
      EXPECT_NEAR(agreement(machine, plan), 1, kAgreement) << agents << " x " << depth;
    }
  }
}

TEST(TransferTime, is_exact_for_latency) {
  Machine machine = lustre_like();
  machine.servers.front().latency_us = 40'000;
  const Layout layout{.stripe_bytes = 64_KiB, .stripe_count = 4};
  for (const std::uint32_t depth : {4U, 8U, 16U}) {
    const TransferPlan plan{
        .bytes = 64_MiB, .depth = depth, .request_bytes = 64_KiB, .layout = layout};
    EXPECT_NEAR(agreement(machine, plan), 1, kAgreement) << depth;
  }
}

TEST(TransferTime, is_exact_by_server_for_equal_shares) {
  Machine machine = lustre_like();
  for (const std::uint64_t request : {256_KiB, 1_MiB, 4_MiB}) {
    for (const std::uint32_t depth : {4U, 8U, 32U}) {
      const TransferPlan plan{.bytes = 256_MiB,
                              .depth = depth,
                              .request_bytes = request,
                              .layout = {.stripe_bytes = 4_MiB, .stripe_count = 4},
                              .order = RequestOrder::kByServer};
      EXPECT_NEAR(agreement(machine, plan), 1, kAgreement) << request << " x " << depth;
    }
  }
}

TEST(TransferTime, includes_the_think_time_of_readers) {
  const Machine machine = lustre_like();
  for (const double think_time_us : {500.0, 20'000.0}) {
    for (const std::uint32_t depth : {4U, 8U, 12U}) {
      const TransferPlan plan{.bytes = 256_MiB,
                              .depth = depth,
                              .layout = {.stripe_bytes = 1_MiB, .stripe_count = 4},
                              .order = RequestOrder::kByServer,
                              .think_time_us = think_time_us};
      // The formula includes it after the last completion, too.
      EXPECT_NEAR(agreement(machine, plan), 1, 0.03) << think_time_us << " x " << depth;
    }
  }
}

TEST(TransferTime, one_request_at_a_time_is_a_sum_of_response_times) {
  const Machine machine = lustre_like();
  const TransferPlan plan{.bytes = 64_MiB, .layout = {.stripe_bytes = 1_MiB, .stripe_count = 4}};
  EXPECT_NEAR(transfer_time_us(machine, plan), 64 * (1000 + 1048576.0 / 125), 1);
  EXPECT_NEAR(agreement(machine, plan), 1, kAgreement);
}

TEST(TransferTime, few_requests_over_all_servers_are_a_sum_of_response_times) {
  const Machine machine = lustre_like();
  for (const std::uint64_t request : {4_MiB, 8_MiB}) {
    const TransferPlan plan{.bytes = 256_MiB,
                            .request_bytes = request,
                            .layout = {.stripe_bytes = 1_MiB, .stripe_count = 4}};
    EXPECT_NEAR(agreement(machine, plan), 1, kAgreement) << request;
  }
}

/// A plan whose numbers do not divide each other, on one of several machines.
double agreement_of_random_plan(std::mt19937_64& random) {
  const auto below = [&random](std::uint64_t limit) { return random() % limit; };
  Machine machine = lustre_like();
  const std::uint32_t concurrency = 1U << below(5);  // argument evaluation order is unspecified
  machine.servers = {server_of(8, concurrency, below(4) != 0)};
  if (below(3) == 0) machine.client.link_bandwidth_mb_per_s = 300;
  const TransferPlan plan{.bytes = 200_MiB,
                          .agents = static_cast<std::uint32_t>(1 + below(4)),
                          .depth = static_cast<std::uint32_t>(1 + below(16)),
                          .request_bytes = 64_KiB << below(7),
                          .layout = {.stripe_bytes = 64_KiB << below(7),
                                     .stripe_count = static_cast<std::uint32_t>(1 + below(8))}};
  return agreement(machine, plan);
}

TEST(TransferTime, is_mostly_right_for_random_plans) {
  std::mt19937_64 random(19);
  std::vector<double> agreements(500);
  for (double& one : agreements)
    one = agreement_of_random_plan(random);
  std::ranges::sort(agreements);
  EXPECT_GT(agreements.front(), 0.5);
  EXPECT_GT(agreements[agreements.size() / 5], 0.98);
  EXPECT_LT(agreements[agreements.size() * 4 / 5], 1.02);
  EXPECT_LT(agreements.back(), 1.5);
}

TEST(TransferTime, is_bounded_by_the_links_of_the_reading_nodes) {
  Machine machine = lustre_like();
  machine.client = {.count = 4, .link_latency_us = 20, .link_bandwidth_mb_per_s = 100};
  for (const std::uint32_t clients : {1U, 2U, 4U}) {
    const TransferPlan plan{.bytes = 256_MiB,
                            .agents = clients,
                            .depth = 16,
                            .clients = clients,
                            .layout = {.stripe_bytes = 1_MiB, .stripe_count = 4}};
    const double links_us = static_cast<double>(256_MiB) / (100.0 * clients);
    EXPECT_NEAR(transfer_time_us(machine, plan) / links_us, 1, 0.05);
    EXPECT_NEAR(agreement(machine, plan), 1, 0.02) << clients;
  }
}

TEST(TransferTime, is_that_of_the_slowest_server) {
  Machine machine = lustre_like();
  machine.servers.push_back(machine.servers.front());
  machine.servers[1].count = 1;
  machine.servers[1].bandwidth_mb_per_s = 25;
  const TransferPlan plan{
      .bytes = 250_MiB, .depth = 20, .layout = {.stripe_bytes = 1_MiB, .stripe_count = 5}};
  EXPECT_NEAR(transfer_time_us(machine, plan), 1000 + 50 * 1048576.0 / 25, 1);
  EXPECT_NEAR(agreement(machine, plan), 1, kAgreement);
}

TEST(TransferTime, empty_transfer_takes_no_time) {
  EXPECT_EQ(transfer_time_us(lustre_like(), {.bytes = 0}), 0);
}

}  // namespace
}  // namespace forebay::model
