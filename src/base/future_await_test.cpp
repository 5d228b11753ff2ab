// SPDX-License-Identifier: Apache-2.0
// Futures without a blocked thread: awaited in coroutines, watched through a descriptor, and raced
// against the agent that finishes them.
#include <forebay/future.hpp>

#include <atomic>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing.hpp"

namespace forebay {
namespace {

TEST_F(FutureTest, coroutine_with_a_finished_future_does_not_suspend) {
  int seen = 0;
  [](int& into) -> Detached { into = *co_await Future<int>(3); }(seen);
  EXPECT_EQ(seen, 3);
}

TEST_F(FutureTest, coroutine_resumes_on_the_default_executor) {
  std::atomic<int> seen{0};
  std::thread::id resumed_on;
  [](TestPromise<int>& from, std::atomic<int>& into, std::thread::id& where) -> Detached {
    into = *co_await from.future();
    where = std::this_thread::get_id();
  }(promise_, seen, resumed_on);
  EXPECT_EQ(seen.load(), 0);
  std::jthread agent([&] { promise_.finish(4); });
  while (seen.load() == 0)
    loop_.wait();
  EXPECT_EQ(seen.load(), 4);
  EXPECT_EQ(resumed_on, std::this_thread::get_id());
  EXPECT_EQ(promise_.live_requests(), 0);
}

Detached add(TestPromise<int>& from, int& sum) { sum += *co_await from.future(); }

TEST_F(FutureTest, coroutine_copies_inline_instead_of_suspending) {
  promise_.on_help = [&](detail::Help how) {
    EXPECT_EQ(how, detail::Help::kOpportunisticCopy)
        << "no thread that waits on this loop would copy";
    promise_.finish(5);
    return true;
  };
  loop_.poll();
  int sum = 0;
  add(promise_, sum);
  EXPECT_EQ(sum, 5);
  EXPECT_EQ(loop_.poll(), 0U) << "it was not suspended";
}

TEST_F(FutureTest, coroutine_suspends_when_inline_copies_make_no_progress) {
  int helped = 0;
  promise_.on_help = [&](detail::Help) { return ++helped < 3; };
  loop_.poll();
  int sum = 0;
  add(promise_, sum);
  EXPECT_EQ(helped, 3);
  EXPECT_TRUE(promise_.is_armed());
  promise_.finish(6);
  EXPECT_EQ(loop_.poll(), 1U);
  EXPECT_EQ(sum, 6);
}

TEST_F(FutureTest, coroutine_of_a_loop_that_helps_when_idle_uses_plain_copy) {
  loop_.set_idle_work([] { return false; });
  promise_.on_help = [&](detail::Help how) {
    EXPECT_EQ(how, detail::Help::kCopy);
    return false;
  };
  loop_.poll();
  int sum = 0;
  add(promise_, sum);
  promise_.finish(8);
  loop_.poll();
  EXPECT_EQ(sum, 8);
}

TEST_F(FutureTest, awaiting_a_moved_from_future_is_an_error) {
  std::optional<ErrorClass> seen;
  [](TestPromise<int>& from, std::optional<ErrorClass>& into) -> Detached {
    Future<int> future = from.future();
    const Future<int> owner = std::move(future);
    const auto got = co_await std::move(future);  // NOLINT(bugprone-use-after-move)
    into = got.error().kind();
  }(promise_, seen);
  EXPECT_EQ(seen, ErrorClass::kInvalidArgument);
}

TEST_F(FutureTest, awaiting_a_cancelled_future_is_an_error) {
  std::optional<ErrorClass> seen;
  [](TestPromise<int>& from, std::optional<ErrorClass>& into) -> Detached {
    Future<int> future = from.future();
    future.cancel();
    into = (co_await std::move(future)).error().kind();
  }(promise_, seen);
  EXPECT_EQ(seen, ErrorClass::kCancelled);
}

TEST_F(FutureTest, coroutine_stops_inline_copies_to_let_others_run) {
  std::uint64_t helped = 0;
  promise_.on_help = [&](detail::Help) { return ++helped < 1'000'000; };
  loop_.poll();
  int sum = 0;
  add(promise_, sum);
  EXPECT_LT(helped, 1000U);
  EXPECT_TRUE(promise_.is_armed());
  promise_.finish(7);
  loop_.poll();
  EXPECT_EQ(sum, 7);
}

TEST_F(FutureTest, coroutine_resumes_on_the_named_executor) {
  EventLoop other;
  int seen = 0;
  [](TestPromise<int>& from, EventLoop& where, int& into) -> Detached {
    Future<int> future = from.future();
    into = *co_await std::move(future).on(where);
  }(promise_, other, seen);
  promise_.finish(4);
  EXPECT_EQ(loop_.poll(), 0U);
  EXPECT_EQ(other.poll(), 1U);
  EXPECT_EQ(seen, 4);
}

TEST_F(FutureTest, coroutine_gets_errors_as_values) {
  ErrorClass seen = ErrorClass::kIo;
  [](TestPromise<int>& from, ErrorClass& into) -> Detached {
    into = (co_await from.future()).error().kind();
  }(promise_, seen);
  promise_.finish(failure({.kind = ErrorClass::kShortFile}));
  loop_.poll();
  EXPECT_EQ(seen, ErrorClass::kShortFile);
}

TEST_F(FutureTest, descriptor_wakes_a_foreign_loop) {
  Future<int> future = promise_.future();
  const Result<int> descriptor = future.event_fd();
  ASSERT_TRUE(descriptor);
  EXPECT_FALSE(is_readable(*descriptor));
  EXPECT_EQ(*future.event_fd(), *descriptor);
  std::jthread agent([&] { promise_.finish(2); });
  EXPECT_TRUE(wait_until_readable(*descriptor));
  EXPECT_TRUE(future.poll());
  EXPECT_EQ(*future.wait(), 2);
}

TEST_F(FutureTest, descriptor_of_a_finished_future_is_readable) {
  Future<int> future = 2;
  EXPECT_TRUE(is_readable(*future.event_fd()));
}

TEST_F(FutureTest, descriptor_is_not_readable_after_a_spurious_poll) {
  Future<int> future = promise_.future();
  const Result<int> descriptor = future.event_fd();
  promise_.signal_spuriously();
  EXPECT_TRUE(is_readable(*descriptor));
  EXPECT_FALSE(future.poll());
  EXPECT_FALSE(is_readable(*descriptor));
  promise_.finish(1);
  EXPECT_TRUE(is_readable(*descriptor));
}

TEST_F(FutureTest, descriptor_works_after_wait_for_timed_out) {
  Future<int> future = promise_.future();
  const Result<int> descriptor = future.event_fd();
  EXPECT_FALSE(future.wait_for(std::chrono::milliseconds(1)));
  promise_.finish(1);
  EXPECT_TRUE(is_readable(*descriptor));
}

TEST_F(FutureTest, coroutine_with_a_descriptor_copies_inline) {
  promise_.on_help = [&](detail::Help) {
    EXPECT_FALSE(promise_.is_armed());
    promise_.finish(3);
    return true;
  };
  loop_.poll();
  int seen = 0;
  [](TestPromise<int>& from, int& into) -> Detached {
    Future<int> future = from.future();
    EXPECT_TRUE(future.event_fd());
    into = *co_await std::move(future);
  }(promise_, seen);
  EXPECT_EQ(seen, 3);
}

TEST_F(FutureTest, coroutine_may_await_a_future_with_a_descriptor) {
  int seen = 0;
  [](TestPromise<int>& from, int& into) -> Detached {
    Future<int> future = from.future();
    EXPECT_TRUE(future.event_fd());
    into = *co_await std::move(future);
  }(promise_, seen);
  promise_.finish(3);
  loop_.poll();
  EXPECT_EQ(seen, 3);
}

TEST(FutureRace, finish_against_wait) {
  EventLoop loop;
  for (int round = 0; round < 500; ++round) {
    TestPromise<int> source(loop);
    Future<int> future = source.future();
    std::jthread agent([&] { source.finish(round); });
    EXPECT_EQ(*future.wait(), round);
  }
}

TEST(FutureRace, finish_against_wait_for_and_drop) {
  EventLoop loop;
  for (int round = 0; round < 500; ++round) {
    TestPromise<int> source(loop);
    std::jthread agent([&] { source.finish(round); });
    Future<int> future = source.future();
    std::ignore = future.event_fd();
    if (future.wait_for(std::chrono::microseconds(round % 50))) {
      EXPECT_EQ(*future.wait(), round);
    } else {
      future.cancel();
    }
  }
}

TEST(FutureRace, finish_against_suspending_coroutines) {
  EventLoop loop;
  std::atomic<int> sum{0};
  int expected = 0;
  for (int round = 0; round < 500; ++round) {
    TestPromise<int> source(loop);
    const int before = sum.load();
    expected += round + 1;
    std::jthread agent([&] { source.finish(round + 1); });
    [](TestPromise<int>& from, std::atomic<int>& into) -> Detached {
      into += *co_await from.future();
    }(source, sum);
    while (sum.load() == before)
      loop.wait();
  }
  EXPECT_EQ(sum.load(), expected);
}

TEST(FutureRace, coroutines_resume_on_another_thread) {
  EventLoop loop;
  std::atomic<bool> stop{false};
  std::atomic<int> resumed{0};
  std::jthread runner([&] {
    while (!stop.load())
      loop.wait();
  });
  constexpr int kRounds = 500;
  std::vector<std::unique_ptr<TestPromise<int>>> sources;
  for (int round = 0; round < kRounds; ++round) {
    sources.push_back(std::make_unique<TestPromise<int>>(loop));
    TestPromise<int>& source = *sources.back();
    std::jthread agent([&] { source.finish(round); });
    [](TestPromise<int>& from, std::atomic<int>& into) -> Detached {
      std::ignore = co_await from.future();
      into.fetch_add(1);
      into.notify_all();
    }(source, resumed);
  }
  for (int seen = resumed.load(); seen < kRounds; seen = resumed.load())
    resumed.wait(seen);
  stop.store(true);
  loop.interrupt();
}

}  // namespace
}  // namespace forebay
