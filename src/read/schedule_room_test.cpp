// SPDX-License-Identifier: Apache-2.0
// Whose memory a Schedule takes when it needs some: what is kept and for whom, who pushes out what,
// and when the window grows instead.
#include <vector>

#include <gtest/gtest.h>

#include "read/schedule_testing.hpp"

namespace forebay::read {
namespace {

// An agent that was told of a time that has passed came back at once, for ever.
TEST(Schedule, no_time_to_retry_is_kept_from_before) {
  Bench bench(16, limits(4, 4, 0));
  bench.load_promised(4);
  Load load;
  bench.want(9, Urgency::kAwaited);
  ASSERT_EQ(bench.schedule.next(load, bench.now), Verdict::kRest);
  ASSERT_TRUE(bench.schedule.retry_at());
  for (SplinterIndex i = 0; i < 4; ++i) {
    bench.serve(i);
    bench.want(10 + i, Urgency::kBlocked);
    ASSERT_EQ(bench.schedule.next(load, bench.now), Verdict::kLoad);
  }
  ASSERT_EQ(bench.schedule.next(load, bench.now), Verdict::kRest);  // as much as may be under way
  EXPECT_FALSE(bench.schedule.retry_at());
}

// Ranks of a node that all read all of a file: whoever came second found nothing.
TEST(Schedule, what_a_second_reader_comes_back_for_is_kept_for_both) {
  Schedule::Limits two_readers = limits(4, 4, 0);
  two_readers.readers_max = 2;
  Bench bench(64, two_readers);
  bench.pass(0, 16);
  EXPECT_EQ(bench.schedule.readers(), 1U);
  bench.pass(0, 8);  // long gone
  EXPECT_EQ(bench.schedule.readers(), 2U);
  bench.pass(20, 21);
  for (SplinterIndex i = 21; i < 24; ++i) {
    bench.want(i, Urgency::kAwaited);
    bench.run();
    EXPECT_TRUE(bench.ready(20));
    bench.serve(i);
    bench.serve(i);
  }
  bench.want(24, Urgency::kAwaited);
  bench.run();
  EXPECT_TRUE(bench.ready(20)) << "others were taken by both";
  bench.serve(20);
}

TEST(Schedule, what_was_kept_for_readers_who_do_not_come_is_retired_early_again) {
  Schedule::Limits two_readers = limits(2, 2, 0);
  two_readers.readers_max = 2;
  Bench bench(256, two_readers);
  bench.pass(0, 9);
  bench.pass(0, 9);
  ASSERT_EQ(bench.schedule.readers(), 2U);
  bench.pass(100, 150);
  EXPECT_EQ(bench.schedule.readers(), 1U);
}

TEST(Schedule, a_single_reader_who_comes_back_changes_nothing) {
  Bench bench(64, limits(4, 4, 0));
  for (int pass = 0; pass < 3; ++pass)
    bench.pass(0, 16);
  EXPECT_EQ(bench.schedule.readers(), 1U);
}

TEST(Schedule, where_reading_again_is_cheap_the_window_grows_after_losses_only) {
  Schedule::Limits cheap = limits(2, 64, 0);
  cheap.losses_before_growth = 3;
  Bench bench(64, cheap);
  for (SplinterIndex i = 0; i < 8; ++i) {  // six of them are pushed out before they are used up
    bench.want(i, Urgency::kAwaited);
    ASSERT_EQ(bench.run(), std::vector<SplinterIndex>{i});
    bench.serve(i, 100);
    ASSERT_EQ(bench.schedule.slots(), 2U) << i;
  }
  bench.want(8, Urgency::kAwaited);
  bench.run();
  EXPECT_EQ(bench.schedule.slots(), 4U);
}

TEST(Schedule, where_reading_again_is_cheap_held_memory_makes_the_window_grow_at_once) {
  Schedule::Limits cheap = limits(2, 64, 0);
  cheap.losses_before_growth = 1000;
  Bench bench(64, cheap);
  for (SplinterIndex i = 0; i < 3; ++i) {
    bench.want(i, Urgency::kAwaited);
    bench.run();
    ASSERT_TRUE(bench.pin(i));
  }
  EXPECT_EQ(bench.schedule.slots(), 4U);
}

TEST(Schedule, what_was_read_ahead_makes_room_for_demand) {
  Bench bench(100, limits(4, 4, 4));
  EXPECT_EQ(bench.run().size(), 4U);
  bench.want(90);
  EXPECT_EQ(bench.run(), (std::vector<SplinterIndex>{90}));
  EXPECT_TRUE(bench.ready(0));  // wanted first, kept longest
  EXPECT_FALSE(bench.ready(3));
}

TEST(Schedule, what_others_asked_for_is_kept_from_those_who_only_ask) {
  Bench bench(100, limits(4, 4, 0));
  for (SplinterIndex splinter = 0; splinter < 6; ++splinter)
    bench.want(splinter);
  EXPECT_EQ(bench.run(), (std::vector<SplinterIndex>{0, 1, 2, 3}));
  EXPECT_TRUE(bench.schedule.needs_slot());
  bench.serve(0);
  EXPECT_EQ(bench.run(), (std::vector<SplinterIndex>{4}));
}

TEST(Schedule, who_waits_pushes_out_what_nobody_takes) {
  Bench bench(100, limits(4, 4, 0));
  for (SplinterIndex splinter = 0; splinter < 4; ++splinter)
    bench.want(splinter);
  bench.run();
  bench.want(9, Urgency::kAwaited);
  EXPECT_EQ(bench.run(), (std::vector<SplinterIndex>{9}));
  EXPECT_FALSE(bench.ready(0));
}

TEST(Schedule, only_a_blocked_thread_pushes_out_what_others_were_told_of) {
  Bench bench(100, limits(2, 2, 0));
  bench.load_promised(2);
  bench.want(7, Urgency::kAwaited);
  EXPECT_TRUE(bench.run().empty());
  bench.want(7, Urgency::kBlocked);
  EXPECT_EQ(bench.run(), (std::vector<SplinterIndex>{7}));
}

TEST(Schedule, who_waits_loses_patience_with_those_who_were_told_and_do_not_come) {
  Bench bench(100, limits(2, 2, 0));
  bench.load_promised(2);
  bench.want(7, Urgency::kAwaited);
  EXPECT_TRUE(bench.run().empty());
  ASSERT_TRUE(bench.schedule.retry_at());
  bench.now = *bench.schedule.retry_at();
  EXPECT_EQ(bench.run(), (std::vector<SplinterIndex>{7}));
  EXPECT_FALSE(bench.schedule.retry_at());
}

// Patience once began anew with each splinter that was pushed out, so that a thousand streams went
// on at the pace of one splinter each 5 ms.
TEST(Schedule, patience_ends_for_all_who_were_told_at_the_same_time) {
  Bench bench(100, limits(4, 4, 0));
  Load load;
  for (SplinterIndex splinter = 0; splinter < 4; ++splinter) {
    bench.want(splinter, Urgency::kAwaited);
    ASSERT_EQ(bench.schedule.next(load, bench.now), Verdict::kLoad);
    bench.finish(load, kScheduleUnit);
    bench.serve(splinter, 100);  // one of those who were told took its part, the others never come
  }
  for (SplinterIndex splinter = 7; splinter < 11; ++splinter)
    bench.want(splinter, Urgency::kAwaited);
  EXPECT_TRUE(bench.run().empty());
  bench.now = *bench.schedule.retry_at();
  EXPECT_EQ(bench.run(), (std::vector<SplinterIndex>{7, 8, 9, 10}));
}

TEST(Schedule, window_grows_only_for_those_who_wait) {
  Bench bench(100, limits(2, 8, 0));
  for (SplinterIndex splinter = 0; splinter < 4; ++splinter)
    bench.want(splinter);
  bench.run();
  EXPECT_EQ(bench.schedule.slots(), 2U);
  bench.want(3, Urgency::kAwaited);
  bench.run();
  EXPECT_EQ(bench.schedule.slots(), 4U);
}

TEST(Schedule, streaming_through_needs_no_growth) {
  Bench bench(1000, limits(8, 256, 4));
  for (SplinterIndex splinter = 0; splinter < 1000; ++splinter) {
    bench.run();
    ASSERT_TRUE(bench.ready(splinter));
    bench.serve(splinter);
  }
  EXPECT_EQ(bench.schedule.slots(), 8U);
  EXPECT_EQ(bench.schedule.rereads(), 0U);
}

TEST(Schedule, everything_held_by_views_starves_a_waiting_request_instead_of_hanging) {
  Bench bench(100, limits(2, 2, 2));
  bench.run();
  ASSERT_TRUE(bench.pin(0));
  ASSERT_TRUE(bench.pin(1));
  bench.want(5);
  Load load;
  EXPECT_EQ(bench.schedule.next(load, bench.now), Verdict::kRest);  // nobody waits yet
  bench.want(5, Urgency::kAwaited);
  EXPECT_EQ(bench.schedule.next(load, bench.now), Verdict::kStarved);
  EXPECT_EQ(load.splinter, 5U);
  bench.schedule.forget(5);
  EXPECT_EQ(bench.table[5].load().residency(), Residency::kAbsent);
  bench.unpin(0, 0);
  bench.want(5, Urgency::kAwaited);
  EXPECT_EQ(bench.run(), (std::vector<SplinterIndex>{5}));
}

TEST(Schedule, a_cache_keeps_what_was_used_and_drops_the_longest_unused) {
  Schedule::Limits cache = limits(3, 3, 0);
  cache.retirement = Retirement::kCache;
  Bench bench(10, cache);
  for (SplinterIndex splinter = 0; splinter < 3; ++splinter) {
    bench.want(splinter);
    bench.run();
    bench.serve(splinter);
  }
  bench.run();
  bench.serve(0);
  bench.want(5, Urgency::kAwaited);
  EXPECT_EQ(bench.run(), (std::vector<SplinterIndex>{5}));
  EXPECT_TRUE(bench.ready(0));
  EXPECT_FALSE(bench.ready(1));
}

}  // namespace
}  // namespace forebay::read
