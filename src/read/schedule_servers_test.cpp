// SPDX-License-Identifier: Apache-2.0
// What a Schedule does where a file lies on several servers: none is given more than its share, and
// none is idle for want of those that many wait for.
#include <cstdint>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "read/schedule_testing.hpp"

namespace forebay::read {
namespace {

/// Stripes of two splinters on four servers; two loads for each at a time.
Schedule::Limits on_four_servers(std::uint32_t eager) {
  Schedule::Limits all = limits(64, 64, eager);
  all.loads_max = 8;
  all.striping = {.stripe_bytes = 2 * kScheduleUnit, .servers = 4};
  return all;
}

std::uint32_t server_of(SplinterIndex splinter) { return splinter / 2 % 4; }

/// What is begun until the schedule rests, none of it arriving.
std::vector<Load> begin_all(Bench& bench) {
  std::vector<Load> begun;
  Load load;
  while (bench.schedule.next(load, bench.now) == Verdict::kLoad)
    begun.push_back(load);
  return begun;
}

std::vector<SplinterIndex> splinters_of(const std::vector<Load>& loads) {
  std::vector<SplinterIndex> all;
  for (const Load& load : loads)
    all.push_back(load.splinter);
  return all;
}

TEST(ServerLanes, follow_stripes_of_the_file_and_not_of_the_session) {
  const Geometry geometry({5 * kScheduleUnit, 100 * kScheduleUnit}, kScheduleUnit);
  const ServerLanes lanes(geometry, {.stripe_bytes = 2 * kScheduleUnit, .servers = 4}, 8);
  EXPECT_EQ(lanes.count(), 4U);
  EXPECT_EQ(lanes.lane_of(0), server_of(5));
  EXPECT_EQ(lanes.lane_of(1), server_of(6));
  EXPECT_EQ(lanes.round_splinters(), 8U);
}

TEST(ServerLanes, are_one_where_a_splinter_is_on_several_servers) {
  const Geometry geometry({0, 100 * kScheduleUnit}, kScheduleUnit);
  EXPECT_EQ(ServerLanes(geometry, {.stripe_bytes = kScheduleUnit / 2, .servers = 4}, 8).count(),
            1U);
  EXPECT_EQ(ServerLanes(geometry, {.stripe_bytes = kScheduleUnit, .servers = 1}, 8).count(), 1U);
  EXPECT_EQ(ServerLanes(geometry, {}, 8).count(), 1U);
}

TEST(ScheduleServers, each_has_its_share_of_what_is_under_way) {
  Bench bench(256, on_four_servers(0));
  // Slices of whole rounds: everybody begins at the first server, and goes on to the next.
  for (SplinterIndex i = 0; i < 8; ++i)
    bench.want(8 * i, Urgency::kAwaited);
  bench.want(2);
  bench.want(20);
  EXPECT_EQ(splinters_of(begin_all(bench)), (std::vector<SplinterIndex>{0, 8, 2, 20}));
}

TEST(ScheduleServers, who_asked_first_is_first_whatever_the_server) {
  Bench bench(256, on_four_servers(0));
  const std::vector<SplinterIndex> asked = {6, 0, 3, 14, 9, 5};
  for (const SplinterIndex splinter : asked)
    bench.want(splinter);
  EXPECT_EQ(splinters_of(begin_all(bench)), asked);
}

TEST(ScheduleServers, what_had_to_wait_goes_on_when_its_server_has_answered) {
  Bench bench(256, on_four_servers(0));
  for (SplinterIndex i = 0; i < 4; ++i)
    bench.want(8 * i, Urgency::kAwaited);
  const std::vector<Load> begun = begin_all(bench);
  ASSERT_EQ(begun.size(), 2U);
  EXPECT_FALSE(bench.schedule.needs_slot());
  bench.finish(begun[0]);
  EXPECT_EQ(splinters_of(begin_all(bench)), (std::vector<SplinterIndex>{16}));
  bench.schedule.failed(begun[1]);
  EXPECT_EQ(splinters_of(begin_all(bench)), (std::vector<SplinterIndex>{24}));
}

TEST(ScheduleServers, idle_ones_read_ahead) {
  Bench bench(256, on_four_servers(16));
  bench.want(64, Urgency::kAwaited);
  bench.want(72, Urgency::kAwaited);
  // All but the first, which has enough to do.
  EXPECT_EQ(splinters_of(begin_all(bench)), (std::vector<SplinterIndex>{64, 72, 2, 3, 4, 5, 6, 7}));
}

TEST(ScheduleServers, reading_ahead_comes_to_every_splinter_once) {
  Bench bench(64, on_four_servers(64));
  bench.want(40);
  std::set<SplinterIndex> read;
  for (std::vector<Load> begun = begin_all(bench); !begun.empty(); begun = begin_all(bench)) {
    // The last that was begun is answered first.
    for (auto load = begun.rbegin(); load != begun.rend(); ++load) {
      bench.finish(*load);
      EXPECT_TRUE(read.insert(load->splinter).second) << load->splinter;
    }
  }
  EXPECT_EQ(read.size(), 64U);
}

}  // namespace
}  // namespace forebay::read
