// SPDX-License-Identifier: Apache-2.0
// Future: every way to wait for a result, on a request that the test finishes.
#include <forebay/future.hpp>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing.hpp"

namespace forebay {
namespace {

using ::testing::HasSubstr;

TEST_F(FutureTest, finished_from_the_start) {
  Future<int> future = 5;
  EXPECT_TRUE(future.poll());
  EXPECT_EQ(*future.wait(), 5);
  Future<int> failed = Error({.kind = ErrorClass::kClosed});
  EXPECT_TRUE(failed.wait_for(std::chrono::nanoseconds(0)));
  EXPECT_EQ(failed.wait().error().kind(), ErrorClass::kClosed);
  Future<std::string> text = Result<std::string>("abc");
  EXPECT_EQ(*text.wait(), "abc");
  Future<std::string> converted = "def";
  EXPECT_EQ(*converted.wait(), "def");
}

TEST_F(FutureTest, poll_returns_whether_the_result_is_available) {
  Future<int> future = promise_.future();
  EXPECT_FALSE(future.poll());
  promise_.finish(3);
  EXPECT_TRUE(future.poll());
  EXPECT_TRUE(future.poll());
  EXPECT_EQ(*future.wait(), 3);
  EXPECT_EQ(promise_.live_requests(), 0);
}

TEST_F(FutureTest, wait_blocks_until_another_thread_finishes) {
  Future<int> future = promise_.future();
  std::jthread agent([&] { promise_.finish(4); });
  EXPECT_EQ(*future.wait(), 4);
}

TEST_F(FutureTest, wait_continues_after_a_spurious_signal) {
  Future<int> future = promise_.future();
  std::jthread agent([&] {
    while (!promise_.is_armed())
      std::this_thread::yield();
    promise_.signal_spuriously();
    while (!promise_.is_armed())
      std::this_thread::yield();
    promise_.finish(4);
  });
  EXPECT_EQ(*future.wait(), 4);
}

TEST_F(FutureTest, wait_for_times_out_and_leaves_no_waiter) {
  Future<int> future = promise_.future();
  EXPECT_FALSE(future.wait_for(std::chrono::milliseconds(1)));
  EXPECT_FALSE(promise_.is_armed());
  EXPECT_FALSE(future.wait_for(std::chrono::nanoseconds(-1)));
  promise_.finish(1);
  EXPECT_TRUE(future.wait_for(std::chrono::nanoseconds::max()));
  EXPECT_EQ(*future.wait(), 1);
}

TEST_F(FutureTest, cancel_drops_an_unfinished_request) {
  Future<int> future = promise_.future();
  future.cancel();
  EXPECT_EQ(promise_.live_requests(), 0);
  const Result<int> result = future.wait();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind(), ErrorClass::kCancelled);
  EXPECT_THAT(result.error().message(), HasSubstr("read data at offset 7"));
}

TEST_F(FutureTest, cancel_after_the_end_keeps_the_value) {
  Future<int> future = promise_.future();
  promise_.finish(9);
  EXPECT_TRUE(future.poll());
  future.cancel();
  EXPECT_EQ(*future.wait(), 9);
}

TEST_F(FutureTest, dropped_future_drops_its_request) {
  {
    const Future<int> future = promise_.future();
  }
  EXPECT_EQ(promise_.live_requests(), 0);
  promise_.finish(1);
}

TEST_F(FutureTest, assignment_drops_the_old_request) {
  Future<int> future = promise_.future();
  ASSERT_TRUE(future.event_fd());
  EXPECT_TRUE(promise_.is_armed());
  future = Future<int>(2);
  EXPECT_FALSE(promise_.is_armed());
  EXPECT_EQ(promise_.live_requests(), 0);
  EXPECT_EQ(*future.wait(), 2);
}

TEST_F(FutureTest, moved_future_is_the_same_request) {
  Future<int> future = promise_.future();
  Future<int> moved = std::move(future);
  promise_.finish(6);
  EXPECT_EQ(*moved.wait(), 6);
}

TEST_F(FutureTest, then_runs_in_wait_of_the_owner) {
  const auto owner = std::this_thread::get_id();
  std::thread::id ran_on;
  Future<std::string> chained = promise_.future().then([&](Result<int> value) {
    ran_on = std::this_thread::get_id();
    return std::to_string(*value + 1);
  });
  std::jthread agent([&] { promise_.finish(41); });
  EXPECT_EQ(*chained.wait(), "42");
  EXPECT_EQ(ran_on, owner);
}

TEST_F(FutureTest, then_runs_once_for_many_polls) {
  int runs = 0;
  Future<int> chained = promise_.future().then([&](const Result<int>& value) {
    ++runs;
    return value;
  });
  EXPECT_FALSE(chained.poll());
  promise_.finish(1);
  EXPECT_TRUE(chained.poll());
  EXPECT_TRUE(chained.poll());
  EXPECT_EQ(*chained.wait(), 1);
  EXPECT_EQ(runs, 1);
}

TEST_F(FutureTest, then_on_a_finished_future_runs_in_poll) {
  int runs = 0;
  Future<int> chained = Future<int>(1).then([&](Result<int> value) { return ++runs + *value; });
  EXPECT_EQ(runs, 0);
  EXPECT_TRUE(chained.poll());
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(*chained.wait(), 2);
}

TEST_F(FutureTest, chain_on_a_finished_future_can_be_awaited_watched_and_dropped) {
  const auto next = [](Result<int> value) { return *value + 1; };
  EXPECT_EQ(*Future<int>(1).then(next).then(next).wait(), 3);
  int seen = 0;
  [](int& into, auto function) -> Detached { into = *co_await Future<int>(4).then(function); }(
                                   seen, next);
  EXPECT_EQ(seen, 5);
  Future<int> watched = Future<int>(7).then(next);
  ASSERT_TRUE(watched.event_fd());
  EXPECT_TRUE(watched.poll());
  bool ran = false;
  {
    const auto dropped = Future<int>(1).then([&](Result<int>) { ran = true; });
  }
  EXPECT_FALSE(ran);
}

TEST_F(FutureTest, exception_after_a_finished_failure_keeps_the_location) {
  const Error error({.operation = "read", .path = "a.file", .offset_bytes = 8});
  Future<int> chained =
      Future<int>(error).then([](Result<int>) -> int { throw std::runtime_error("boom"); });
  const auto result = chained.wait();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().operation(), "continue after read");
  EXPECT_EQ(result.error().path(), "a.file");
  EXPECT_EQ(result.error().offset_bytes(), 8U);
}

TEST_F(FutureTest, moved_from_future_is_an_error) {
  Future<int> first = promise_.future();
  const Future<int> second = std::move(first);
  EXPECT_TRUE(first.wait_for(std::chrono::hours(1)));  // NOLINT(bugprone-use-after-move)
  first.cancel();
  const auto result = first.wait();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind(), ErrorClass::kInvalidArgument);
}

TEST_F(FutureTest, then_may_return_nothing) {
  int seen = 0;
  Future<void> chained = promise_.future().then([&](Result<int> value) { seen = *value; });
  promise_.finish(8);
  EXPECT_TRUE(chained.wait());
  EXPECT_EQ(seen, 8);
}

TEST_F(FutureTest, then_chains) {
  Future<int> chained = promise_.future()
                            .then([](Result<int> value) { return *value * 2; })
                            .then([](Result<int> value) { return *value + 1; });
  promise_.finish(10);
  EXPECT_EQ(*chained.wait(), 21);
}

TEST_F(FutureTest, then_sees_errors_and_may_return_them) {
  Future<int> chained = promise_.future().then([](const Result<int>& value) -> Result<int> {
    EXPECT_FALSE(value);
    return failure({.kind = ErrorClass::kDamage});
  });
  promise_.finish(failure({.kind = ErrorClass::kIo}));
  EXPECT_EQ(chained.wait().error().kind(), ErrorClass::kDamage);
}

TEST_F(FutureTest, exception_in_a_continuation_becomes_an_error) {
  Future<int> chained = promise_.future().then(
      [](const Result<int>&) -> int { throw std::runtime_error("no such particle"); });
  promise_.finish(1);
  const Result<int> result = chained.wait();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind(), ErrorClass::kException);
  EXPECT_THAT(result.error().message(), HasSubstr("no such particle"));
  EXPECT_THAT(result.error().message(), HasSubstr("continue after read data"));
}

TEST_F(FutureTest, foreign_exception_in_a_continuation_becomes_an_error) {
  Future<int> chained = Future<int>(1).then([](const Result<int>&) -> int { throw 17; });  // NOLINT
  EXPECT_EQ(chained.wait().error().kind(), ErrorClass::kException);
}

TEST_F(FutureTest, cancelled_continuation_never_runs) {
  Future<int> chained = promise_.future().then([](const Result<int>&) -> int {
    ADD_FAILURE() << "ran";
    return 0;
  });
  chained.cancel();
  EXPECT_EQ(promise_.live_requests(), 0);
  EXPECT_EQ(chained.wait().error().kind(), ErrorClass::kCancelled);
}

TEST_F(FutureTest, cancel_inside_a_continuation_of_another_request) {
  TestPromise<int> other_source(loop_);
  Future<int> other = other_source.future();
  Future<int> chained = promise_.future().then([&](Result<int> value) {
    other.cancel();
    return *value;
  });
  promise_.finish(1);
  EXPECT_EQ(*chained.wait(), 1);
  EXPECT_EQ(other_source.live_requests(), 0);
}

TEST_F(FutureTest, detached_continuation_runs_on_the_executor) {
  int seen = 0;
  promise_.future().then(loop_, [&](Result<int> value) { seen = *value; });
  EXPECT_EQ(loop_.poll(), 1U);  // the first step finds nothing and waits for a signal
  EXPECT_EQ(seen, 0);
  std::jthread agent([&] { promise_.finish(5); });
  EXPECT_EQ(loop_.wait(), 1U);
  EXPECT_EQ(seen, 5);
  EXPECT_EQ(promise_.live_requests(), 0);
}

TEST_F(FutureTest, detached_continuation_of_a_finished_future_is_posted) {
  int seen = 0;
  Future<int>(5).then(loop_, [&](Result<int> value) { seen = *value; });
  EXPECT_EQ(seen, 0);
  EXPECT_EQ(loop_.poll(), 1U);
  EXPECT_EQ(seen, 5);
}

TEST(Future, continuation_may_return_what_members_of_a_result_return) {
  const auto add_one = [](Result<int> value) {
    return value.map_error([](Error error) { return error; });
  };
  Future<int> chained = Future<int>(failure({.kind = ErrorClass::kLimit})).then(add_one);
  EXPECT_EQ(chained.wait().error().kind(), ErrorClass::kLimit);
  const auto make = [&]() -> Future<int> { return add_one(Result<int>(4)); };
  EXPECT_EQ(*make().wait(), 4);
}

}  // namespace
}  // namespace forebay
