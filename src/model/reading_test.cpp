// SPDX-License-Identifier: Apache-2.0
#include "model/reading.hpp"

#include <gtest/gtest.h>

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
              ReadingAdvice how) {
  return 1e-6 * transfer_time_us(machine, {.bytes = bytes,
                                           .depth = how.requests,
                                           .request_bytes = how.request_bytes,
                                           .layout = layout});
}

TEST(Reading, keeps_all_servers_busy) {
  const Machine lustre =
      machine({.count = 4, .latency_us = 1000, .concurrency = 4, .bandwidth_mb_per_s = 125});
  const Layout layout{.stripe_bytes = 1_MiB, .stripe_count = 4};
  const ReadingAdvice how = advise_reading(lustre, layout, 1_GiB, 64_MiB);
  EXPECT_EQ(how.request_bytes, 1_MiB);
  EXPECT_GE(how.requests, 8U);
  EXPECT_LE(how.requests, 32U);
  const double ideal_s = 1073741824.0 / 500e6;
  EXPECT_LE(time_s(lustre, layout, 1_GiB, how), 1.02 * ideal_s);
}

TEST(Reading, hides_a_long_latency_by_many_requests) {
  const Machine nfs = machine({.latency_us = 5000, .concurrency = 16, .bandwidth_mb_per_s = 200});
  const ReadingAdvice how = advise_reading(nfs, {}, 1_GiB, 64_MiB);
  const double ideal_s = 1073741824.0 / 200e6;
  EXPECT_LE(time_s(nfs, {}, 1_GiB, how), 1.02 * ideal_s);
}

TEST(Reading, cuts_a_short_file_so_that_all_servers_have_some) {
  const Machine slow =
      machine({.count = 1, .latency_us = 100, .concurrency = 64, .bandwidth_mb_per_s = 0});
  const ReadingAdvice how = advise_reading(slow, {}, 4_MiB, 64_MiB);
  EXPECT_GE(how.requests * how.request_bytes, 4_MiB) << "all of it at once";
}

TEST(Reading, stays_within_its_memory) {
  const Machine lustre =
      machine({.count = 64, .latency_us = 20000, .concurrency = 64, .bandwidth_mb_per_s = 1000});
  const Layout layout{.stripe_bytes = 1_MiB, .stripe_count = 64};
  for (const std::uint64_t memory : {64_KiB, 1_MiB, 8_MiB, 64_MiB}) {
    const ReadingAdvice how = advise_reading(lustre, layout, 1_GiB, memory);
    EXPECT_LE(how.requests * how.request_bytes, memory);
    EXPECT_GE(how.requests, 1U);
  }
}

TEST(Reading, never_asks_two_servers_with_one_request) {
  const Machine small_stripes =
      machine({.count = 8, .latency_us = 500, .concurrency = 4, .bandwidth_mb_per_s = 400});
  const Layout layout{.stripe_bytes = 128_KiB, .stripe_count = 8};
  EXPECT_LE(advise_reading(small_stripes, layout, 1_GiB, 64_MiB).request_bytes, 128_KiB);
}

TEST(Reading, makes_sense_where_nothing_costs_anything) {
  const ReadingAdvice how = advise_reading(machine({}), {}, 1_GiB, 64_MiB);
  EXPECT_EQ(how.request_bytes, 1_MiB);
  EXPECT_GE(how.requests, 1U);
  EXPECT_GE(advise_reading(machine({}), {}, 0, 64_MiB).requests, 1U);
}

}  // namespace
}  // namespace forebay::model
