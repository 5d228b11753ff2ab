// SPDX-License-Identifier: Apache-2.0
// Which slots a LoadScheduler evicts: what is kept and for which requests, and when the window
// grows instead.
#include <vector>

#include <gtest/gtest.h>

#include "read/load_scheduler_testing.hpp"

namespace forebay::read {
namespace {

// An agent with a retry time in the past returned at once, again and again.
TEST(LoadScheduler, retry_time_is_cleared_by_the_next_call) {
  SchedulerFixture fixture(16, limits(4, 4, 0));
  fixture.load_reserved(4);
  Load load;
  fixture.request(9, LoadPriority::kAwaited);
  ASSERT_EQ(fixture.scheduler.next(load, fixture.now), Decision::kIdle);
  ASSERT_TRUE(fixture.scheduler.retry_at());
  for (SplinterIndex i = 0; i < 4; ++i) {
    fixture.serve(i);
    fixture.request(10 + i, LoadPriority::kBlocked);
    ASSERT_EQ(fixture.scheduler.next(load, fixture.now), Decision::kLoad);
  }
  ASSERT_EQ(fixture.scheduler.next(load, fixture.now),
            Decision::kIdle);  // the bound of loads in flight
  EXPECT_FALSE(fixture.scheduler.retry_at());
}

// Ranks of a node that each read the whole file: the later rank found nothing in the window.
TEST(LoadScheduler, rereads_make_splinters_stay_for_two_readers) {
  LoadScheduler::Limits two_readers = limits(4, 4, 0);
  two_readers.readers_max = 2;
  SchedulerFixture fixture(64, two_readers);
  fixture.read_in_order(0, 16);
  EXPECT_EQ(fixture.scheduler.reader_count(), 1U);
  fixture.read_in_order(0, 8);  // evicted before
  EXPECT_EQ(fixture.scheduler.reader_count(), 2U);
  fixture.read_in_order(20, 21);
  for (SplinterIndex i = 21; i < 24; ++i) {
    fixture.request(i, LoadPriority::kAwaited);
    fixture.load_until_idle();
    EXPECT_TRUE(fixture.is_ready(20));
    fixture.serve(i);
    fixture.serve(i);
  }
  fixture.request(24, LoadPriority::kAwaited);
  fixture.load_until_idle();
  EXPECT_TRUE(fixture.is_ready(20)) << "both readers took the others";
  fixture.serve(20);
}

TEST(LoadScheduler, unused_retention_lowers_the_reader_count) {
  LoadScheduler::Limits two_readers = limits(2, 2, 0);
  two_readers.readers_max = 2;
  SchedulerFixture fixture(256, two_readers);
  fixture.read_in_order(0, 9);
  fixture.read_in_order(0, 9);
  ASSERT_EQ(fixture.scheduler.reader_count(), 2U);
  fixture.read_in_order(100, 150);
  EXPECT_EQ(fixture.scheduler.reader_count(), 1U);
}

TEST(LoadScheduler, rereads_of_a_single_client_change_nothing) {
  SchedulerFixture fixture(64, limits(4, 4, 0));
  for (int pass = 0; pass < 3; ++pass)
    fixture.read_in_order(0, 16);
  EXPECT_EQ(fixture.scheduler.reader_count(), 1U);
}

TEST(LoadScheduler, cheap_rereads_delay_growth_until_premature_evictions) {
  LoadScheduler::Limits cheap = limits(2, 64, 0);
  cheap.evictions_before_growth = 3;
  SchedulerFixture fixture(64, cheap);
  for (SplinterIndex i = 0; i < 8; ++i) {  // six of them are evicted before they are consumed
    fixture.request(i, LoadPriority::kAwaited);
    ASSERT_EQ(fixture.load_until_idle(), std::vector<SplinterIndex>{i});
    fixture.serve(i, 100);
    ASSERT_EQ(fixture.scheduler.slots(), 2U) << i;
  }
  fixture.request(8, LoadPriority::kAwaited);
  fixture.load_until_idle();
  EXPECT_EQ(fixture.scheduler.slots(), 4U);
}

TEST(LoadScheduler, cheap_rereads_do_not_delay_growth_if_all_slots_are_pinned) {
  LoadScheduler::Limits cheap = limits(2, 64, 0);
  cheap.evictions_before_growth = 1000;
  SchedulerFixture fixture(64, cheap);
  for (SplinterIndex i = 0; i < 3; ++i) {
    fixture.request(i, LoadPriority::kAwaited);
    fixture.load_until_idle();
    ASSERT_TRUE(fixture.pin(i));
  }
  EXPECT_EQ(fixture.scheduler.slots(), 4U);
}

TEST(LoadScheduler, demand_evicts_prefetched_splinters) {
  SchedulerFixture fixture(100, limits(4, 4, 4));
  EXPECT_EQ(fixture.load_until_idle().size(), 4U);
  fixture.request(90);
  EXPECT_EQ(fixture.load_until_idle(), (std::vector<SplinterIndex>{90}));
  EXPECT_TRUE(fixture.is_ready(0));  // needed first, kept longest
  EXPECT_FALSE(fixture.is_ready(3));
}

TEST(LoadScheduler, request_without_waiter_evicts_no_requested_splinter) {
  SchedulerFixture fixture(100, limits(4, 4, 0));
  for (SplinterIndex splinter = 0; splinter < 6; ++splinter)
    fixture.request(splinter);
  EXPECT_EQ(fixture.load_until_idle(), (std::vector<SplinterIndex>{0, 1, 2, 3}));
  EXPECT_TRUE(fixture.scheduler.is_waiting_for_slot());
  fixture.serve(0);
  EXPECT_EQ(fixture.load_until_idle(), (std::vector<SplinterIndex>{4}));
}

TEST(LoadScheduler, waiting_request_evicts_unserved_splinter) {
  SchedulerFixture fixture(100, limits(4, 4, 0));
  for (SplinterIndex splinter = 0; splinter < 4; ++splinter)
    fixture.request(splinter);
  fixture.load_until_idle();
  fixture.request(9, LoadPriority::kAwaited);
  EXPECT_EQ(fixture.load_until_idle(), (std::vector<SplinterIndex>{9}));
  EXPECT_FALSE(fixture.is_ready(0));
}

TEST(LoadScheduler, only_blocked_thread_evicts_reserved_splinter) {
  SchedulerFixture fixture(100, limits(2, 2, 0));
  fixture.load_reserved(2);
  fixture.request(7, LoadPriority::kAwaited);
  EXPECT_TRUE(fixture.load_until_idle().empty());
  fixture.request(7, LoadPriority::kBlocked);
  EXPECT_EQ(fixture.load_until_idle(), (std::vector<SplinterIndex>{7}));
}

TEST(LoadScheduler, waiting_request_evicts_reserved_splinter_after_timeout) {
  SchedulerFixture fixture(100, limits(2, 2, 0));
  fixture.load_reserved(2);
  fixture.request(7, LoadPriority::kAwaited);
  EXPECT_TRUE(fixture.load_until_idle().empty());
  ASSERT_TRUE(fixture.scheduler.retry_at());
  fixture.now = *fixture.scheduler.retry_at();
  EXPECT_EQ(fixture.load_until_idle(), (std::vector<SplinterIndex>{7}));
  EXPECT_FALSE(fixture.scheduler.retry_at());
}

// The timeout once restarted with each evicted splinter, so a thousand streams advanced by one
// splinter every 5 ms.
TEST(LoadScheduler, reservations_made_together_expire_together) {
  SchedulerFixture fixture(100, limits(4, 4, 0));
  Load load;
  for (SplinterIndex splinter = 0; splinter < 4; ++splinter) {
    fixture.request(splinter, LoadPriority::kAwaited);
    ASSERT_EQ(fixture.scheduler.next(load, fixture.now), Decision::kLoad);
    fixture.finish(load, kScheduleUnit);
    fixture.serve(splinter,
                  100);  // one signaled waiter took its part, the others take none
  }
  for (SplinterIndex splinter = 7; splinter < 11; ++splinter)
    fixture.request(splinter, LoadPriority::kAwaited);
  EXPECT_TRUE(fixture.load_until_idle().empty());
  fixture.now = *fixture.scheduler.retry_at();
  EXPECT_EQ(fixture.load_until_idle(), (std::vector<SplinterIndex>{7, 8, 9, 10}));
}

TEST(LoadScheduler, window_grows_only_for_waiting_requests) {
  SchedulerFixture fixture(100, limits(2, 8, 0));
  for (SplinterIndex splinter = 0; splinter < 4; ++splinter)
    fixture.request(splinter);
  fixture.load_until_idle();
  EXPECT_EQ(fixture.scheduler.slots(), 2U);
  fixture.request(3, LoadPriority::kAwaited);
  fixture.load_until_idle();
  EXPECT_EQ(fixture.scheduler.slots(), 4U);
}

TEST(LoadScheduler, streaming_needs_no_growth) {
  SchedulerFixture fixture(1000, limits(8, 256, 4));
  for (SplinterIndex splinter = 0; splinter < 1000; ++splinter) {
    fixture.load_until_idle();
    ASSERT_TRUE(fixture.is_ready(splinter));
    fixture.serve(splinter);
  }
  EXPECT_EQ(fixture.scheduler.slots(), 8U);
  EXPECT_EQ(fixture.scheduler.rereads(), 0U);
}

TEST(LoadScheduler, waiting_request_reports_no_memory_if_all_slots_are_pinned) {
  SchedulerFixture fixture(100, limits(2, 2, 2));
  fixture.load_until_idle();
  ASSERT_TRUE(fixture.pin(0));
  ASSERT_TRUE(fixture.pin(1));
  fixture.request(5);
  Load load;
  EXPECT_EQ(fixture.scheduler.next(load, fixture.now), Decision::kIdle);  // no request waits yet
  fixture.request(5, LoadPriority::kAwaited);
  EXPECT_EQ(fixture.scheduler.next(load, fixture.now), Decision::kNoMemory);
  EXPECT_EQ(load.splinter, 5U);
  fixture.scheduler.cancel_request(5);
  EXPECT_EQ(fixture.control_block[5].load().residency(), Residency::kAbsent);
  fixture.unpin(0, 0);
  fixture.request(5, LoadPriority::kAwaited);
  EXPECT_EQ(fixture.load_until_idle(), (std::vector<SplinterIndex>{5}));
}

TEST(LoadScheduler, cache_evicts_the_least_recently_used_splinter) {
  LoadScheduler::Limits cache = limits(3, 3, 0);
  cache.eviction = EvictionPolicy::kLru;
  SchedulerFixture fixture(10, cache);
  for (SplinterIndex splinter = 0; splinter < 3; ++splinter) {
    fixture.request(splinter);
    fixture.load_until_idle();
    fixture.serve(splinter);
  }
  fixture.load_until_idle();
  fixture.serve(0);
  fixture.request(5, LoadPriority::kAwaited);
  EXPECT_EQ(fixture.load_until_idle(), (std::vector<SplinterIndex>{5}));
  EXPECT_TRUE(fixture.is_ready(0));
  EXPECT_FALSE(fixture.is_ready(1));
}

}  // namespace
}  // namespace forebay::read
