// SPDX-License-Identifier: Apache-2.0
// LoadScheduler with files on several servers: no server gets more than its share of loads, and
// none is idle while requests for it wait behind requests for busy servers.
#include <cstdint>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "read/load_scheduler_testing.hpp"

namespace forebay::read {
namespace {

/// Stripes of two splinters on four servers; two loads for each at a time.
LoadScheduler::Limits on_four_servers(std::uint32_t readahead) {
  LoadScheduler::Limits result = limits(64, 64, readahead);
  result.loads_max = 8;
  result.striping = {.stripe_bytes = 2 * kScheduleUnit, .servers = 4};
  return result;
}

std::uint32_t server_of(SplinterIndex splinter) { return splinter / 2 % 4; }

/// Starts loads until the scheduler is idle; finishes none.
std::vector<Load> start_all_loads(SchedulerFixture& fixture) {
  std::vector<Load> begun;
  Load load;
  while (fixture.scheduler.next(load, fixture.now) == Decision::kLoad)
    begun.push_back(load);
  return begun;
}

std::vector<SplinterIndex> splinters_of(const std::vector<Load>& loads) {
  std::vector<SplinterIndex> splinters;
  for (const Load& load : loads)
    splinters.push_back(load.splinter);
  return splinters;
}

TEST(ServerLoadLimiter, servers_follow_stripes_of_the_file) {
  const Geometry geometry({5 * kScheduleUnit, 100 * kScheduleUnit}, kScheduleUnit);
  const ServerLoadLimiter limiter(geometry, {.stripe_bytes = 2 * kScheduleUnit, .servers = 4}, 8);
  EXPECT_EQ(limiter.count(), 4U);
  EXPECT_EQ(limiter.server_of(0), server_of(5));
  EXPECT_EQ(limiter.server_of(1), server_of(6));
  EXPECT_EQ(limiter.full_stripe_splinters(), 8U);
}

TEST(ServerLoadLimiter, splinter_on_several_servers_counts_as_one_server) {
  const Geometry geometry({0, 100 * kScheduleUnit}, kScheduleUnit);
  EXPECT_EQ(
      ServerLoadLimiter(geometry, {.stripe_bytes = kScheduleUnit / 2, .servers = 4}, 8).count(),
      1U);
  EXPECT_EQ(ServerLoadLimiter(geometry, {.stripe_bytes = kScheduleUnit, .servers = 1}, 8).count(),
            1U);
  EXPECT_EQ(ServerLoadLimiter(geometry, {}, 8).count(), 1U);
}

TEST(LoadSchedulerServers, each_server_has_its_share_of_loads) {
  SchedulerFixture fixture(256, on_four_servers(0));
  // Slices of whole stripe rounds: all begin at the first server, and continue with the next one.
  for (SplinterIndex i = 0; i < 8; ++i)
    fixture.request(8 * i, LoadPriority::kAwaited);
  fixture.request(2);
  fixture.request(20);
  EXPECT_EQ(splinters_of(start_all_loads(fixture)), (std::vector<SplinterIndex>{0, 8, 2, 20}));
}

TEST(LoadSchedulerServers, loads_follow_the_order_of_requests) {
  SchedulerFixture fixture(256, on_four_servers(0));
  const std::vector<SplinterIndex> requested = {6, 0, 3, 14, 9, 5};
  for (const SplinterIndex splinter : requested)
    fixture.request(splinter);
  EXPECT_EQ(splinters_of(start_all_loads(fixture)), requested);
}

TEST(LoadSchedulerServers, queued_load_starts_when_its_server_completes_one) {
  SchedulerFixture fixture(256, on_four_servers(0));
  for (SplinterIndex i = 0; i < 4; ++i)
    fixture.request(8 * i, LoadPriority::kAwaited);
  const std::vector<Load> begun = start_all_loads(fixture);
  ASSERT_EQ(begun.size(), 2U);
  EXPECT_FALSE(fixture.scheduler.is_waiting_for_slot());
  fixture.finish(begun[0]);
  EXPECT_EQ(splinters_of(start_all_loads(fixture)), (std::vector<SplinterIndex>{16}));
  fixture.scheduler.fail_load(begun[1]);
  EXPECT_EQ(splinters_of(start_all_loads(fixture)), (std::vector<SplinterIndex>{24}));
}

TEST(LoadSchedulerServers, idle_servers_read_ahead) {
  SchedulerFixture fixture(256, on_four_servers(16));
  fixture.request(64, LoadPriority::kAwaited);
  fixture.request(72, LoadPriority::kAwaited);
  // All but the first server, which has its share already.
  EXPECT_EQ(splinters_of(start_all_loads(fixture)),
            (std::vector<SplinterIndex>{64, 72, 2, 3, 4, 5, 6, 7}));
}

TEST(LoadSchedulerServers, readahead_loads_every_splinter_once) {
  SchedulerFixture fixture(64, on_four_servers(64));
  fixture.request(40);
  std::set<SplinterIndex> read;
  for (std::vector<Load> begun = start_all_loads(fixture); !begun.empty();
       begun = start_all_loads(fixture)) {
    // Finish loads in reverse order.
    for (auto load = begun.rbegin(); load != begun.rend(); ++load) {
      fixture.finish(*load);
      EXPECT_TRUE(read.insert(load->splinter).second) << load->splinter;
    }
  }
  EXPECT_EQ(read.size(), 64U);
}

}  // namespace
}  // namespace forebay::read
