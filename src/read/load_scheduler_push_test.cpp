// SPDX-License-Identifier: Apache-2.0
// The window as a cache of predicted splinters: which slot a push takes, and what is counted.
#include "read/load_scheduler_testing.hpp"

namespace forebay::read {
namespace {

LoadScheduler::Limits push_limits(std::uint32_t slots) {
  LoadScheduler::Limits made = limits(slots, slots, 0);
  made.eviction = EvictionPolicy::kLru;
  made.is_push_cache = true;
  return made;
}

class LoadSchedulerPush : public ::testing::Test {
 protected:
  void push(SplinterIndex splinter, std::uint64_t use) {
    fixture.scheduler.add_request(splinter, fixture.geometry.full_part(splinter),
                                  LoadPriority::kHint, LoadGranularity::kExact, {use, 0});
  }
  void push_and_load(SplinterIndex splinter, std::uint64_t use) {
    push(splinter, use);
    EXPECT_EQ(fixture.load_until_idle(), std::vector{splinter});
  }
  void request_and_load(SplinterIndex splinter) {
    fixture.request(splinter, LoadPriority::kAwaited);
    EXPECT_EQ(fixture.load_until_idle(), std::vector{splinter});
  }

  SchedulerFixture fixture{16, push_limits(3)};
};

TEST_F(LoadSchedulerPush, full_cache_evicts_the_farthest_predicted_use) {
  push_and_load(0, 30);
  push_and_load(1, 10);
  push_and_load(2, 20);
  push_and_load(3, 15);
  EXPECT_FALSE(fixture.is_ready(0));
  EXPECT_TRUE(fixture.is_ready(1));
  EXPECT_TRUE(fixture.is_ready(2));
}

TEST_F(LoadSchedulerPush, push_never_evicts_a_splinter_that_is_used_sooner) {
  push_and_load(0, 1);
  push_and_load(1, 2);
  push_and_load(2, 3);
  push(3, 4);
  EXPECT_TRUE(fixture.load_until_idle().empty());
  fixture.scheduler.set_position(2);  // the use of splinter 0 has passed
  EXPECT_EQ(fixture.load_until_idle(), std::vector<SplinterIndex>{3});
  EXPECT_FALSE(fixture.is_ready(0));
}

TEST_F(LoadSchedulerPush, splinter_without_predicted_use_leaves_before_predicted_ones) {
  push_and_load(0, 100);
  request_and_load(1);
  fixture.serve(1);
  push_and_load(2, 90);
  push_and_load(3, 200);
  EXPECT_FALSE(fixture.is_ready(1));
}

TEST_F(LoadSchedulerPush, expected_use_keeps_a_splinter_that_was_read) {
  request_and_load(0);
  fixture.serve(0);
  request_and_load(1);
  fixture.serve(1);
  push_and_load(2, 3);
  fixture.scheduler.expect_use(0, {5, 0});
  push_and_load(3, 4);
  EXPECT_TRUE(fixture.is_ready(0));
  EXPECT_FALSE(fixture.is_ready(1));
}

TEST_F(LoadSchedulerPush, demand_evicts_although_all_splinters_are_predicted) {
  push_and_load(0, 1);
  push_and_load(1, 2);
  push_and_load(2, 3);
  request_and_load(9);
  EXPECT_FALSE(fixture.is_ready(2));
  EXPECT_TRUE(fixture.is_ready(0));
}

TEST_F(LoadSchedulerPush, push_spares_requested_bytes_that_were_not_taken) {
  request_and_load(0);
  push_and_load(1, 1);
  push_and_load(2, 2);
  push_and_load(3, 1);
  EXPECT_TRUE(fixture.is_ready(0));
  EXPECT_FALSE(fixture.is_ready(2));
}

TEST_F(LoadSchedulerPush, cache_of_one_slot_serves_demand) {
  SchedulerFixture tiny{4, push_limits(1)};
  for (SplinterIndex splinter = 0; splinter < 4; ++splinter) {
    tiny.request(splinter, LoadPriority::kAwaited);
    EXPECT_EQ(tiny.load_until_idle(), std::vector{splinter});
    tiny.serve(splinter);
  }
}

TEST_F(LoadSchedulerPush, cancelled_hint_is_not_loaded_and_demand_stays) {
  push(0, 1);
  push(1, 2);
  fixture.request(1, LoadPriority::kRequested);
  fixture.scheduler.cancel_hint(0);
  fixture.scheduler.cancel_hint(1);
  EXPECT_EQ(fixture.load_until_idle(), std::vector<SplinterIndex>{1});
}

TEST_F(LoadSchedulerPush, loads_of_hints_leave_room_for_demand) {
  LoadScheduler::Limits made = push_limits(8);
  made.loads_max = 3;
  made.hint_loads_max = 2;
  SchedulerFixture busy{16, made};
  for (SplinterIndex splinter = 0; splinter < 4; ++splinter) {
    busy.scheduler.add_request(splinter, busy.geometry.full_part(splinter), LoadPriority::kHint,
                               LoadGranularity::kExact, {splinter, 0});
  }
  Load load;
  EXPECT_EQ(busy.scheduler.next(load, busy.now), Decision::kLoad);
  EXPECT_EQ(busy.scheduler.next(load, busy.now), Decision::kLoad);
  EXPECT_EQ(busy.scheduler.next(load, busy.now), Decision::kIdle);
  busy.request(9, LoadPriority::kAwaited);
  ASSERT_EQ(busy.scheduler.next(load, busy.now), Decision::kLoad);
  EXPECT_EQ(load.splinter, 9U);
}

TEST_F(LoadSchedulerPush, pushed_bytes_that_no_read_uses_count_as_wasted) {
  push_and_load(0, 1);
  push_and_load(1, 2);
  push_and_load(2, 3);
  EXPECT_EQ(fixture.scheduler.pushed_bytes(), 3 * kScheduleUnit);
  fixture.serve(0);
  EXPECT_EQ(fixture.scheduler.wasted_bytes(), 2 * kScheduleUnit);
  request_and_load(9);  // evicts 2, unused
  request_and_load(10);
  EXPECT_EQ(fixture.scheduler.wasted_bytes(), 2 * kScheduleUnit);
  EXPECT_EQ(fixture.scheduler.pushed_bytes(), 3 * kScheduleUnit);
}

TEST_F(LoadSchedulerPush, invalidated_splinter_is_absent) {
  request_and_load(0);
  EXPECT_EQ(fixture.scheduler.invalidate(0), LoadScheduler::Invalidation::kDone);
  EXPECT_FALSE(fixture.is_ready(0));
  EXPECT_EQ(fixture.scheduler.invalidate(5), LoadScheduler::Invalidation::kDone);
}

TEST_F(LoadSchedulerPush, invalidated_load_in_flight_is_to_be_failed) {
  fixture.request(0, LoadPriority::kAwaited);
  Load load;
  ASSERT_EQ(fixture.scheduler.next(load, fixture.now), Decision::kLoad);
  EXPECT_EQ(fixture.scheduler.invalidate(0), LoadScheduler::Invalidation::kLoading);
}

TEST_F(LoadSchedulerPush, invalidated_pinned_splinter_has_no_valid_bytes) {
  request_and_load(0);
  ASSERT_TRUE(fixture.pin(0));
  EXPECT_EQ(fixture.scheduler.invalidate(0), LoadScheduler::Invalidation::kPinned);
  EXPECT_EQ(fixture.control_block[0].valid().size(), 0U);
  fixture.unpin(0, 0);
}

TEST_F(LoadSchedulerPush, more_bytes_of_an_invalidated_pinned_splinter_are_not_loaded) {
  const auto add = [&](SplinterPart part) {
    fixture.scheduler.add_request(0, part, LoadPriority::kAwaited, LoadGranularity::kExact);
  };
  add({0, 4096});
  EXPECT_EQ(fixture.load_until_idle(), std::vector<SplinterIndex>{0});
  ASSERT_TRUE(fixture.pin(0));
  add({8192, 12288});
  EXPECT_EQ(fixture.scheduler.invalidate(0), LoadScheduler::Invalidation::kPinned);
  EXPECT_TRUE(fixture.load_until_idle().empty()) << "the load overwrites pinned bytes";
  fixture.unpin(0, 0);
}

TEST_F(LoadSchedulerPush, cancelled_hint_that_was_loaded_is_evicted_first) {
  push_and_load(0, 5);
  request_and_load(1);
  fixture.serve(1);
  push_and_load(2, 6);
  fixture.scheduler.cancel_hint(0);
  request_and_load(9);
  EXPECT_FALSE(fixture.is_ready(0));
  EXPECT_TRUE(fixture.is_ready(1));
}

TEST_F(LoadSchedulerPush, uses_of_clients_are_compared_by_the_position_of_each) {
  const auto push_of = [&](std::uint32_t client, SplinterIndex splinter, std::uint64_t use) {
    fixture.scheduler.add_request(splinter, fixture.geometry.full_part(splinter),
                                  LoadPriority::kHint, LoadGranularity::kExact, {use, client});
    EXPECT_EQ(fixture.load_until_idle(), std::vector{splinter});
  };
  fixture.scheduler.set_position(1000, 0);
  fixture.scheduler.set_position(10, 1);
  push_of(0, 0, 1002);  // in 2 accesses of client 0
  push_of(1, 1, 30);    // in 20 of client 1
  push_of(0, 2, 1005);
  push_of(1, 3, 13);
  EXPECT_TRUE(fixture.is_ready(0));
  EXPECT_FALSE(fixture.is_ready(1));
  EXPECT_TRUE(fixture.is_ready(2));
}

TEST_F(LoadSchedulerPush, splinter_stays_until_the_last_client_has_used_it) {
  push_and_load(0, 1);
  fixture.scheduler.expect_use(0, {8, 1});
  push_and_load(1, 20);
  push_and_load(2, 9);
  fixture.scheduler.set_position(2, 0);  // client 0 has used it
  push_and_load(3, 12);
  EXPECT_TRUE(fixture.is_ready(0));
  EXPECT_FALSE(fixture.is_ready(1));
  fixture.scheduler.set_position(9, 1);
  push_and_load(4, 30);
  EXPECT_FALSE(fixture.is_ready(0));
}

TEST_F(LoadSchedulerPush, client_cancels_only_its_own_hints) {
  push(0, 1);
  fixture.scheduler.cancel_hint(0, 1);
  EXPECT_EQ(fixture.load_until_idle(), std::vector<SplinterIndex>{0});
}

TEST_F(LoadSchedulerPush, hint_of_two_clients_stays_when_one_cancels_it) {
  push(0, 1);
  fixture.scheduler.add_request(0, fixture.geometry.full_part(0), LoadPriority::kHint,
                                LoadGranularity::kExact, {5, 1});
  fixture.scheduler.cancel_hint(0, 0);
  EXPECT_EQ(fixture.load_until_idle(), std::vector<SplinterIndex>{0});
}

TEST_F(LoadSchedulerPush, splinter_that_two_clients_push_at_once_stays_for_both) {
  push(0, 1);
  fixture.scheduler.add_request(0, fixture.geometry.full_part(0), LoadPriority::kHint,
                                LoadGranularity::kExact, {8, 1});
  EXPECT_EQ(fixture.load_until_idle(), std::vector<SplinterIndex>{0});
  push_and_load(1, 20);
  push_and_load(2, 9);
  fixture.scheduler.set_position(2, 0);  // client 0 has used it
  push_and_load(3, 12);
  EXPECT_TRUE(fixture.is_ready(0));
  EXPECT_FALSE(fixture.is_ready(1));
}

TEST_F(LoadSchedulerPush, splinters_of_a_client_that_ends_make_room_for_others) {
  for (SplinterIndex splinter = 0; splinter < 3; ++splinter) {
    fixture.scheduler.add_request(splinter, fixture.geometry.full_part(splinter),
                                  LoadPriority::kHint, LoadGranularity::kExact, {splinter + 1, 1});
    EXPECT_EQ(fixture.load_until_idle(), std::vector{splinter});
  }
  push(3, 9);
  EXPECT_TRUE(fixture.load_until_idle().empty());
  fixture.scheduler.forget_uses(1);
  EXPECT_EQ(fixture.load_until_idle(), std::vector<SplinterIndex>{3});
}

TEST_F(LoadSchedulerPush, push_cache_never_waits_to_read_ahead) {
  EXPECT_FALSE(fixture.scheduler.can_read_ahead());
}

}  // namespace
}  // namespace forebay::read
