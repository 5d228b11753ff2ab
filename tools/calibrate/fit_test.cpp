// SPDX-License-Identifier: Apache-2.0
// Fits storages of known numbers, observed through the closed forms of the model.
#include "tools/calibrate/fit.hpp"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

namespace forebay::calibrate {
namespace {

/// Requests a second of `clients` closed-loop clients of one server, as docs/formats/machine.md
/// defines it for latencies that overlap.
double throughput(const model::ServerGroup& server, double clients, double bytes) {
  const double transfer_us = bytes / server.bandwidth_mb_per_s;
  const double in_service = std::min(clients, static_cast<double>(server.concurrency));
  return in_service * 1e6 / std::max(server.latency_us + transfer_us, in_service * transfer_us);
}

std::vector<LoadPoint> points(const model::ServerGroup& server, std::uint64_t bytes) {
  std::vector<LoadPoint> points;
  for (std::uint32_t depth = 1; depth <= 64; depth *= 2) {
    const double rate = throughput(server, depth, static_cast<double>(bytes));
    points.push_back({depth, {rate, rate, rate}});
  }
  return points;
}

Observations observe_server(const model::ServerGroup& server) {
  Observations observations{.name = "seen", .about = "", .stripe_bytes = 1_MiB, .server_count = 4};
  observations.read = {.small_bytes = 4_KiB,
                       .small = points(server, 4_KiB),
                       .large_bytes = 1_MiB,
                       .large = points(server, 1_MiB)};
  observations.write = observations.read;
  observations.metadata = {.create = {500e-6, 0, 0},
                           .open = {400e-6, 0, 0},
                           .stat = {300e-6, 0, 0},
                           .unlink = {200e-6, 0, 0}};
  observations.sync = {.clean = {10e-6, 0, 0},
                       .small_bytes = 4_KiB,
                       .small = {2000e-6, 1500e-6, 9000e-6},
                       .large_bytes = 64_MiB,
                       .large = {2500e-6, 0, 0},
                       .directory = {700e-6, 600e-6, 800e-6}};
  observations.read_ahead_bytes = 128_KiB;
  return observations;
}

TEST(Fit, finds_the_numbers_of_a_known_storage) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 200; ++round) {
    const model::ServerGroup server{
        .latency_us = 200 + static_cast<double>(random() % 8000),
        .concurrency = static_cast<std::uint32_t>(1 + random() % 32),
        .bandwidth_mb_per_s = 50 + static_cast<double>(random() % 2000)};
    const auto fitted = fit(observe_server(server)).servers.front();
    // Where the bandwidth is reached before the concurrency, more concurrency is not observable.
    const double transfer_us = 4096 / server.bandwidth_mb_per_s;
    const double seen_places =
        std::min<double>(server.concurrency, (server.latency_us + transfer_us) / transfer_us);
    EXPECT_NEAR(fitted.concurrency, seen_places, 1 + 0.02 * seen_places);
    const double full = throughput(server, 64, 1_MiB) * 1.048576;
    EXPECT_NEAR(fitted.bandwidth_mb_per_s, full, 0.1);
    EXPECT_NEAR(fitted.latency_us, server.latency_us, 0.02 * server.latency_us + 1);
  }
}

TEST(Fit, names_a_source_for_every_number) {
  const model::ServerGroup server{.latency_us = 1000, .concurrency = 4, .bandwidth_mb_per_s = 125};
  for (const model::MachineValue& value : model::describe(fit(observe_server(server))))
    EXPECT_TRUE(value.source) << value.key;
}

TEST(Fit, gives_a_machine_file_that_can_be_read) {
  const model::ServerGroup server{.latency_us = 1000, .concurrency = 4, .bandwidth_mb_per_s = 125};
  const model::Machine machine = fit(observe_server(server));
  const auto again = model::parse_machine(model::to_toml(machine), "seen.toml");
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(*again, machine);
  EXPECT_EQ(machine.servers.front().count, 4U);
  EXPECT_DOUBLE_EQ(machine.metadata.create_us, 500);
}

TEST(Fit, commit_takes_a_sync_after_a_small_write) {
  const model::ServerGroup server{.latency_us = 1000, .concurrency = 4, .bandwidth_mb_per_s = 125};
  const model::Machine machine = fit(observe_server(server));
  EXPECT_DOUBLE_EQ(machine.servers.front().sync_us, 2000);
  EXPECT_DOUBLE_EQ(machine.metadata.sync_us, 700);
  EXPECT_EQ(machine.source_of("servers.0.sync_us"),
            "measured: fsync after 4096 bytes, 1500.0 to 9000.0 us; 10.0 us after none, 2500.0 us "
            "after 64 MiB");
}

TEST(Fit, detects_a_link_that_limits_all_servers) {
  const model::ServerGroup server{.latency_us = 1000, .concurrency = 4, .bandwidth_mb_per_s = 125};
  Observations observations = observe_server(server);
  observations.aggregate_bytes_per_second = SampleSummary{300e6, 300e6, 300e6};
  EXPECT_DOUBLE_EQ(fit(observations).client.link_bandwidth_mb_per_s, 300);
  observations.aggregate_bytes_per_second = SampleSummary{490e6, 490e6, 490e6};
  EXPECT_DOUBLE_EQ(fit(observations).client.link_bandwidth_mb_per_s, 0);
}

}  // namespace
}  // namespace forebay::calibrate
