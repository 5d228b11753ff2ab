// SPDX-License-Identifier: Apache-2.0
// The splinters that a LoadScheduler loads, their order and slots, and its invariants under random
// calls.
#include <algorithm>
#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "read/load_scheduler_testing.hpp"

namespace forebay::read {
namespace {

TEST(LoadScheduler, next_loads_only_requests_of_the_given_priority) {
  SchedulerFixture fixture(16, limits(4, 4, 4));
  Load load;
  fixture.request(5, LoadPriority::kAwaited);
  EXPECT_EQ(fixture.scheduler.next(load, fixture.now, LoadPriority::kAwaitedUnassisted),
            Decision::kIdle);
  fixture.request(6, LoadPriority::kAwaitedUnassisted);
  ASSERT_EQ(fixture.scheduler.next(load, fixture.now, LoadPriority::kAwaitedUnassisted),
            Decision::kLoad);
  EXPECT_EQ(load.splinter, 6U);
  EXPECT_EQ(fixture.load_until_idle(), (std::vector<SplinterIndex>{5, 0, 1}));
}

TEST(LoadScheduler, readahead_stops_at_its_limit) {
  SchedulerFixture fixture(100, limits(8, 8, 3));
  EXPECT_EQ(fixture.load_until_idle(), (std::vector<SplinterIndex>{0, 1, 2}));
  fixture.serve(0);
  EXPECT_EQ(fixture.load_until_idle(), (std::vector<SplinterIndex>{3}));
}

// Requests of all splinters overtook readahead, which loaded splinters again that were consumed
// already.
TEST(LoadScheduler, splinter_loaded_before_is_not_read_ahead) {
  SchedulerFixture fixture(8, limits(2, 2, 1));
  EXPECT_EQ(fixture.load_until_idle(), (std::vector<SplinterIndex>{0}));
  fixture.serve(0);
  for (SplinterIndex i = 1; i < 8; ++i) {
    fixture.request(i);
    fixture.load_until_idle();
    fixture.serve(i);
  }
  EXPECT_TRUE(fixture.load_until_idle().empty());
  EXPECT_EQ(fixture.scheduler.rereads(), 0U);
}

TEST(LoadScheduler, readahead_limit_doubles_when_used) {
  LoadScheduler::Limits wide = limits(16, 16, 8);
  wide.readahead_initial = 2;
  SchedulerFixture fixture(100, wide);
  EXPECT_EQ(fixture.load_until_idle().size(), 2U);
  fixture.serve(0);
  EXPECT_EQ(fixture.load_until_idle().size(), 3U);  // four ahead now, one of them resident before
  fixture.serve(1);
  fixture.load_until_idle();
  EXPECT_EQ(fixture.scheduler.readahead_limit(), 8U);
}

TEST(LoadScheduler, readahead_ends_after_unused_evictions) {
  LoadScheduler::Limits wide = limits(8, 8, 4);
  wide.readahead_initial = 4;
  SchedulerFixture fixture(1000, wide);
  fixture.load_until_idle();
  std::uint32_t loads_of_others = 0;
  for (SplinterIndex i = 0; i < 100; ++i) {
    const SplinterIndex splinter = 100 + i * 7;
    fixture.request(splinter, LoadPriority::kBlocked);
    loads_of_others += static_cast<std::uint32_t>(fixture.load_until_idle().size()) - 1;
    fixture.serve(splinter, kScheduleUnit / 2);
  }
  EXPECT_EQ(fixture.scheduler.readahead_limit(), 0U);
  EXPECT_LT(loads_of_others, 16U);
}

TEST(LoadScheduler, readahead_resumes_behind_a_sequential_reader) {
  LoadScheduler::Limits wide = limits(8, 8, 4);
  wide.readahead_initial = 4;
  SchedulerFixture fixture(1000, wide);
  fixture.load_until_idle();
  for (SplinterIndex i = 0; i < 40; ++i) {
    fixture.request(100 + i * 7, LoadPriority::kBlocked);
    fixture.load_until_idle();
    fixture.serve(100 + i * 7, kScheduleUnit / 2);
  }
  ASSERT_EQ(fixture.scheduler.readahead_limit(), 0U);
  for (SplinterIndex i = 0; i < 40; ++i)
    if (fixture.is_ready(100 + i * 7)) fixture.serve(100 + i * 7, kScheduleUnit / 2);
  fixture.read_in_order(500, 510);
  EXPECT_GT(fixture.scheduler.readahead_limit(), 0U);
  EXPECT_TRUE(fixture.is_ready(510)) << "ahead of the reader, not at the beginning of the file";
}

TEST(LoadScheduler, demand_precedes_readahead) {
  SchedulerFixture fixture(100, limits(8, 8, 2));
  fixture.request(50);
  fixture.request(40);
  EXPECT_EQ(fixture.load_until_idle(), (std::vector<SplinterIndex>{50, 40, 0, 1}));
}

TEST(LoadScheduler, higher_priority_is_loaded_first) {
  SchedulerFixture fixture(100, limits(8, 8, 0));
  fixture.request(1, LoadPriority::kHint);
  fixture.request(2, LoadPriority::kRequested);
  fixture.request(3, LoadPriority::kAwaited);
  fixture.request(4, LoadPriority::kBlocked);
  fixture.request(1, LoadPriority::kBlocked);
  EXPECT_EQ(fixture.load_until_idle(), (std::vector<SplinterIndex>{4, 1, 3, 2}));
}

TEST(LoadScheduler, consecutive_splinters_get_contiguous_slots_around_the_window_end) {
  SchedulerFixture fixture(64, limits(8, 8, 2));
  for (SplinterIndex splinter = 0; splinter + 1 < 40; ++splinter) {
    fixture.load_until_idle();
    ASSERT_TRUE(fixture.is_ready(splinter));
    ASSERT_TRUE(fixture.is_ready(splinter + 1));
    EXPECT_EQ(fixture.control_block[splinter + 1].slot(),
              (fixture.control_block[splinter].slot() + 1) % 8)
        << splinter;
    fixture.serve(splinter);
  }
}

TEST(LoadScheduler, two_streams_keep_contiguous_slots) {
  SchedulerFixture fixture(64, limits(16, 16, 0));
  fixture.request(0);
  fixture.request(32);
  fixture.load_until_idle();
  for (SplinterIndex step = 1; step < 5; ++step) {
    fixture.request(step);
    fixture.request(32 + step);
    fixture.load_until_idle();
    EXPECT_EQ(fixture.control_block[step].slot(),
              (fixture.control_block[step - 1].slot() + 1) % 16);
    EXPECT_EQ(fixture.control_block[32 + step].slot(),
              (fixture.control_block[31 + step].slot() + 1) % 16);
  }
}

TEST(LoadScheduler, exact_request_loads_only_its_pages_and_is_extended_later) {
  SchedulerFixture fixture(10, limits(4, 4, 0));
  fixture.scheduler.add_request(3, {10'000, 12'000}, LoadPriority::kRequested,
                                LoadGranularity::kExact);
  Load load;
  ASSERT_EQ(fixture.scheduler.next(load, fixture.now), Decision::kLoad);
  EXPECT_EQ(load.bytes, (SplinterPart{8192, 12288}));
  fixture.finish(load);
  EXPECT_EQ(fixture.control_block[3].valid(), (SplinterPart{8192, 12288}));

  fixture.scheduler.add_request(3, {4000, 20'000}, LoadPriority::kRequested,
                                LoadGranularity::kExact);
  ASSERT_EQ(fixture.scheduler.next(load, fixture.now), Decision::kLoad);
  EXPECT_TRUE(load.is_extension);
  EXPECT_EQ(load.bytes, (SplinterPart{0, 8192}));
  EXPECT_TRUE(fixture.is_ready(3));  // resident bytes can be used meanwhile
  fixture.finish(load);
  ASSERT_EQ(fixture.scheduler.next(load, fixture.now), Decision::kLoad);
  EXPECT_EQ(load.bytes, (SplinterPart{12288, 20480}));
  fixture.finish(load);
  EXPECT_EQ(fixture.control_block[3].valid(), (SplinterPart{0, 20480}));
  EXPECT_FALSE(fixture.scheduler.is_requested(3));
}

TEST(LoadScheduler, failed_load_frees_its_slot) {
  SchedulerFixture fixture(10, limits(1, 1, 0));
  fixture.request(3);
  Load load;
  ASSERT_EQ(fixture.scheduler.next(load, fixture.now), Decision::kLoad);
  fixture.scheduler.fail_load(load);
  EXPECT_EQ(fixture.control_block[3].load().residency(), Residency::kAbsent);
  fixture.request(4);
  EXPECT_EQ(fixture.load_until_idle(), (std::vector<SplinterIndex>{4}));
}

TEST(LoadScheduler, short_load_is_reported_and_keeps_its_bytes) {
  SchedulerFixture fixture(10, limits(4, 4, 0));
  fixture.request(3);
  Load load;
  ASSERT_EQ(fixture.scheduler.next(load, fixture.now), Decision::kLoad);
  EXPECT_FALSE(fixture.scheduler.complete_load(load, 1000, 1000));
  EXPECT_EQ(fixture.control_block[3].valid(), (SplinterPart{0, 1000}));
  EXPECT_FALSE(fixture.scheduler.is_requested(3));
}

TEST(LoadScheduler, random_small_parts_end_loading_of_whole_splinters) {
  SchedulerFixture fixture(1000, limits(4, 4, 0));
  Load load;
  for (SplinterIndex i = 0; i < 40; ++i) {
    const SplinterIndex splinter = i * 7 % 1000;
    fixture.scheduler.add_request(splinter, {0, 4096}, LoadPriority::kBlocked,
                                  LoadGranularity::kSplinter);
    ASSERT_EQ(fixture.scheduler.next(load, fixture.now), Decision::kLoad);
    fixture.finish(load);
    fixture.serve(splinter, 4096);
  }
  EXPECT_EQ(load.bytes.size(), 4096U);
}

TEST(LoadScheduler, random_halves_end_loading_of_whole_splinters) {
  SchedulerFixture fixture(1000, limits(4, 4, 0));
  Load load;
  for (SplinterIndex i = 0; i < 40; ++i) {
    const SplinterIndex splinter = i * 7 % 1000;
    fixture.scheduler.add_request(splinter, {0, kScheduleUnit / 2}, LoadPriority::kBlocked,
                                  LoadGranularity::kSplinter);
    ASSERT_EQ(fixture.scheduler.next(load, fixture.now), Decision::kLoad);
    fixture.finish(load);
    fixture.serve(splinter, kScheduleUnit / 2);
  }
  EXPECT_EQ(load.bytes.size(), kScheduleUnit / 2);
}

// Under random calls the invariants hold: no slot has two owners, pinned splinters do not move,
// every blocked request is served.
TEST(LoadScheduler, random_calls_keep_the_invariants) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    std::mt19937_64 random(seed);
    const auto count = static_cast<std::uint32_t>(1 + random() % 60);
    const auto slots = static_cast<std::uint32_t>(1 + random() % 8);
    LoadScheduler::Limits wild = limits(slots, slots * 2, static_cast<std::uint32_t>(random() % 5));
    if (random() % 2 == 0) wild.eviction = EvictionPolicy::kLru;
    SchedulerFixture fixture(count, wild);
    std::vector<Load> under_way;
    std::multiset<SplinterIndex> pinned;
    for (int step = 0; step < 2000; ++step) {
      const auto splinter = static_cast<SplinterIndex>(random() % count);
      switch (random() % 6) {
        case 0:
          fixture.scheduler.add_request(
              splinter, {static_cast<std::uint32_t>(random() % 30'000), 30'001},
              static_cast<LoadPriority>(random() % 4),
              random() % 2 == 0 ? LoadGranularity::kExact : LoadGranularity::kSplinter);
          break;
        case 1:
        case 2: {
          Load load;
          const Decision decision = fixture.scheduler.next(load, fixture.now);
          if (decision == Decision::kLoad) under_way.push_back(load);
          if (decision == Decision::kGrow)
            fixture.scheduler.set_slot_count(fixture.scheduler.slots() +
                                             static_cast<std::uint32_t>(random() % 2));
          if (decision == Decision::kNoMemory) fixture.scheduler.cancel_request(load.splinter);
          break;
        }
        case 3:
          if (under_way.empty()) break;
          std::swap(under_way[random() % under_way.size()], under_way.back());
          if (random() % 8 == 0) {
            fixture.scheduler.fail_load(under_way.back());
          } else {
            fixture.finish(under_way.back(), random() % 2 == 0);
          }
          under_way.pop_back();
          break;
        case 4:
          if (fixture.pin(splinter)) pinned.insert(splinter);
          break;
        default:
          if (pinned.empty()) break;
          fixture.unpin(*pinned.begin(), static_cast<std::uint32_t>(random() % kScheduleUnit));
          pinned.erase(pinned.begin());
      }
      std::set<std::uint32_t> owned;
      for (SplinterIndex i = 0; i < count; ++i) {
        const auto residency = fixture.control_block[i].load().residency();
        if (residency < Residency::kChanging) continue;
        ASSERT_TRUE(owned.insert(fixture.control_block[i].slot()).second)
            << "seed " << seed << " step " << step;
        ASSERT_LT(fixture.control_block[i].slot(), fixture.scheduler.slots());
      }
      for (const SplinterIndex held : pinned)
        ASSERT_TRUE(fixture.is_ready(held)) << "seed " << seed << " step " << step;
    }
    for (const SplinterIndex held : pinned)
      fixture.unpin(held, 0);
    for (const Load& load : under_way)
      fixture.finish(load);
    const auto wanted = static_cast<SplinterIndex>(random() % count);
    fixture.request(wanted, LoadPriority::kBlocked);
    const bool was_ready = fixture.is_ready(wanted);
    const std::vector<SplinterIndex> loaded = fixture.load_until_idle();
    EXPECT_TRUE(was_ready || std::count(loaded.begin(), loaded.end(), wanted) > 0)
        << "seed " << seed;
  }
}

}  // namespace
}  // namespace forebay::read
