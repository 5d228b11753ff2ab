// SPDX-License-Identifier: Apache-2.0
// Every way to take the result of a request to a session: wait, poll, timeout, continuations,
// coroutines on several executors, descriptors; and dropping it.
#include <forebay/future.hpp>
#include <forebay/session.hpp>

#include <array>
#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "read/testing.hpp"

namespace forebay::read {
namespace {

constexpr std::byte kUntouched{0xA5};

/// A session whose reads wait until the test opens the gate.
class RequestTest : public ::testing::Test {
 protected:
  RequestTest() { file->block_reads(); }
  ~RequestTest() override { file->unblock_reads(); }
  RequestTest(const RequestTest&) = delete;
  RequestTest& operator=(const RequestTest&) = delete;

  /// Waits until the agent is at the gate: the request is then certainly pending.
  void wait_for_read() {
    ASSERT_TRUE(wait_until([&] { return file->waiting_count() > 0; }));
  }
  bool drain_reads() {
    file->unblock_reads();
    return wait_until([&] { return file->waiting_count() == 0; });
  }

  SessionFixture fixture;
  std::shared_ptr<GatedFile> file = std::make_shared<GatedFile>(16 * kUnit);
  Session session = fixture.open(file, {0, 16 * kUnit}, SmallPlan{});
  std::vector<std::byte> into = std::vector<std::byte>(2 * kUnit, kUntouched);
};

TEST_F(RequestTest, wait_returns_when_another_thread_opens_the_gate) {
  std::jthread opener([&] {
    wait_for_read();
    file->unblock_reads();
  });
  EXPECT_EQ(*session.read(100, std::span(into)).wait(), into.size());
  EXPECT_TRUE(is_words(into, 100));
}

TEST_F(RequestTest, polling_returns_the_result) {
  Future<ByteCount> future = session.read(100, std::span(into));
  wait_for_read();
  for (int i = 0; i < 1000; ++i)
    ASSERT_FALSE(future.poll());
  file->unblock_reads();
  ASSERT_TRUE(wait_until([&] { return future.poll(); }));
  EXPECT_TRUE(future.poll());
  EXPECT_EQ(*future.wait(), into.size());
  EXPECT_TRUE(is_words(into, 100));
}

TEST_F(RequestTest, timeout_leaves_the_request_unchanged) {
  Future<ByteCount> future = session.read(100, std::span(into));
  EXPECT_FALSE(future.wait_for(std::chrono::milliseconds(1)));
  EXPECT_FALSE(future.wait_for(std::chrono::nanoseconds(0)));
  EXPECT_FALSE(future.wait_for(std::chrono::nanoseconds(-1)));
  file->unblock_reads();
  EXPECT_TRUE(future.wait_for(kTestTimeout));
  EXPECT_EQ(*future.wait(), into.size());
  EXPECT_TRUE(is_words(into, 100));
}

TEST_F(RequestTest, chained_continuations_run_in_wait) {
  const auto here = std::this_thread::get_id();
  std::thread::id ran_on;
  auto sum = session.read(0, std::span(into))
                 .then([&](Result<ByteCount> got) -> Result<std::uint64_t> {
                   ran_on = std::this_thread::get_id();
                   if (!got) return failure(got.error());
                   return *got + 1;
                 })
                 .then([](Result<std::uint64_t> value) { return *value + 1; });
  wait_for_read();
  EXPECT_FALSE(sum.poll());
  EXPECT_EQ(ran_on, std::thread::id());
  file->unblock_reads();
  EXPECT_EQ(*result_of(sum), into.size() + 2);
  EXPECT_EQ(ran_on, here);
  EXPECT_TRUE(is_words(into, 0));
}

TEST_F(RequestTest, exception_in_a_continuation_is_its_result) {
  auto future = session.read(0, std::span(into)).then([](const Result<ByteCount>&) -> int {
    throw std::runtime_error("out of tea");
  });
  file->unblock_reads();
  const auto result = result_of(future);
  ASSERT_EQ(error_class(result), ErrorClass::kException);
  EXPECT_EQ(result.error().cause(), "out of tea");
  EXPECT_EQ(result.error().path(), "words");
  // The request and the session are not affected.
  EXPECT_TRUE(is_words(into, 0));
  EXPECT_TRUE(reads_words(session, {0, kUnit}));
}

TEST_F(RequestTest, cancelled_continuation_never_runs) {
  bool ran = false;
  auto future =
      session.read(0, std::span(into)).then([&](const Result<ByteCount>&) { ran = true; });
  wait_for_read();
  EXPECT_FALSE(future.poll());
  future.cancel();
  EXPECT_EQ(error_class(result_of(future)), ErrorClass::kCancelled);
  ASSERT_TRUE(drain_reads());
  EXPECT_TRUE(reads_words(session, {0, 2 * kUnit}));
  EXPECT_FALSE(ran);
  EXPECT_EQ(into.front(), kUntouched);
}

TEST_F(RequestTest, continuation_may_cancel_or_issue_requests) {
  std::vector<std::byte> other(kUnit, kUntouched);
  Future<ByteCount> victim = session.read(8 * kUnit, std::span(other));
  auto future = session.read(0, std::span(into)).then([&](const Result<ByteCount>&) {
    victim.cancel();
    return result_of(session.read(4 * kUnit, std::span(into)));
  });
  file->unblock_reads();
  EXPECT_EQ(*result_of(future), into.size());
  EXPECT_TRUE(is_words(into, 4 * kUnit));
  EXPECT_EQ(error_class(victim.wait()), ErrorClass::kCancelled);
}

TEST_F(RequestTest, continuations_on_an_executor_run_there) {
  ThreadExecutor executor;
  std::atomic<int> ran{0};
  std::atomic<int> elsewhere{0};
  std::vector<std::byte> memory(8 * kUnit);
  for (std::uint64_t i = 0; i < 8; ++i) {
    session.read(i * kUnit, std::span(memory).subspan(i * kUnit, kUnit))
        .then(executor, [&](const Result<ByteCount>& got) {
          if (std::this_thread::get_id() != executor.id()) ++elsewhere;
          if (got && *got == kUnit) ++ran;
        });
  }
  EXPECT_EQ(ran, 0);
  file->unblock_reads();
  ASSERT_TRUE(wait_until([&] { return ran == 8; }));
  EXPECT_EQ(elsewhere, 0);
  EXPECT_TRUE(is_words(memory, 0));
}

Detached read_on_default(const Session& session, std::span<std::byte> into, std::thread::id& on) {
  const auto got = co_await session.read(100, into);
  EXPECT_TRUE(got);
  on = std::this_thread::get_id();
}

TEST_F(RequestTest, coroutine_resumes_on_the_default_executor) {
  std::thread::id on;
  read_on_default(session, into, on);
  wait_for_read();
  fixture.loop().poll();
  EXPECT_EQ(on, std::thread::id());
  file->unblock_reads();
  ASSERT_TRUE(run_until(fixture.loop(), [&] { return on != std::thread::id(); }));
  EXPECT_EQ(on, std::this_thread::get_id());
  EXPECT_TRUE(is_words(into, 100));
}

Detached read_on(Executor& executor,
                 const Session& session,
                 std::span<std::byte> into,
                 std::atomic<std::thread::id>& on) {
  const auto got = co_await session.read(100, into).on(executor);
  EXPECT_TRUE(got);
  on = std::this_thread::get_id();
}

TEST_F(RequestTest, coroutine_resumes_on_a_foreign_executor) {
  ThreadExecutor executor;
  std::atomic<std::thread::id> on;
  read_on(executor, session, into, on);
  wait_for_read();
  EXPECT_EQ(on.load(), std::thread::id());
  file->unblock_reads();
  ASSERT_TRUE(wait_until([&] { return on.load() != std::thread::id(); }));
  EXPECT_EQ(on.load(), executor.id());
  EXPECT_TRUE(is_words(into, 100));
}

Detached collect_views(const Session& session, ByteRange range, std::vector<std::byte>& sink) {
  ViewSequence views = session.views(range);
  while (!views.is_done()) {
    const Result<View> view = co_await views.next();
    EXPECT_TRUE(view);
    if (!view) co_return;
    sink.insert(sink.end(), view->bytes().begin(), view->bytes().end());
  }
}

TEST_F(RequestTest, coroutine_takes_views_of_one_range) {
  const ByteRange range{100, 15 * kUnit};
  std::vector<std::byte> sink;
  collect_views(session, range, sink);
  file->unblock_reads();
  ASSERT_TRUE(run_until(fixture.loop(), [&] { return sink.size() == range.size; }));
  EXPECT_TRUE(is_words(sink, range.offset));
}

TEST_F(RequestTest, descriptor_is_readable_when_the_result_is_ready) {
  Future<ByteCount> future = session.read(100, std::span(into));
  const Result<int> descriptor = future.event_fd();
  ASSERT_TRUE(descriptor);
  wait_for_read();
  pollfd entry{*descriptor, POLLIN, 0};
  EXPECT_EQ(::poll(&entry, 1, 0), 0);
  file->unblock_reads();
  do {
    ASSERT_TRUE(wait_until_readable(*descriptor));
  } while (!future.poll());
  EXPECT_TRUE(wait_until_readable(*descriptor)) << "of a finished request";
  EXPECT_EQ(*future.wait(), into.size());
  EXPECT_TRUE(is_words(into, 100));
}

TEST_F(RequestTest, future_may_move_while_its_descriptor_is_watched) {
  Future<ByteCount> future = session.read(100, std::span(into));
  const int descriptor = *future.event_fd();
  Future<ByteCount> moved = std::move(future);
  Future<ByteCount> assigned = ByteCount{0};
  assigned = std::move(moved);
  file->unblock_reads();
  do {
    ASSERT_TRUE(wait_until_readable(descriptor));
  } while (!assigned.poll());
  EXPECT_TRUE(is_words(into, 100));
}

TEST_F(RequestTest, dropped_future_does_not_write_the_buffer) {
  {
    const Future<ByteCount> dropped = session.read(0, std::span(into));
  }
  {
    Future<ByteCount> watched = session.read(0, std::span(into));
    ASSERT_TRUE(watched.event_fd());
  }
  {
    Future<ByteCount> timed_out = session.read(0, std::span(into));
    EXPECT_FALSE(timed_out.wait_for(std::chrono::milliseconds(1)));
  }
  {
    Future<View> view = session.view({0, 2 * kUnit});
    EXPECT_FALSE(view.poll());
  }
  wait_for_read();
  file->unblock_reads();
  EXPECT_TRUE(reads_words(session, {0, 4 * kUnit}));
  EXPECT_EQ(into, std::vector<std::byte>(into.size(), kUntouched));
}

TEST_F(RequestTest, dropped_view_request_releases_its_pins) {
  ASSERT_TRUE(drain_reads());
  ASSERT_TRUE(reads_words(session, {0, 3 * kUnit}));
  file->block_reads();
  for (int i = 0; i < 20; ++i) {  // each pins resident splinters and waits for the rest
    Future<View> dropped = session.view({0, 4 * kUnit});
    EXPECT_FALSE(dropped.poll());
    Future<View> cancelled = session.view({0, 4 * kUnit});
    cancelled.cancel();
  }
  file->unblock_reads();
  for (std::uint64_t i = 4; i < 16; ++i)
    ASSERT_TRUE(reads_words(session, {i * kUnit, kUnit}));
  EXPECT_EQ(session.report().private_copies, 0U);
}

TEST_F(RequestTest, error_of_a_cancelled_request_names_operation_and_path) {
  Future<ByteCount> future = session.read(100, std::span(into));
  future.cancel();
  const auto result = future.wait();
  ASSERT_EQ(error_class(result), ErrorClass::kCancelled);
  EXPECT_EQ(result.error().operation(), "read");
  EXPECT_EQ(result.error().path(), "words");
  EXPECT_EQ(result.error().offset_bytes(), 100U);
  ASSERT_TRUE(drain_reads());
  EXPECT_TRUE(reads_words(session, {0, 2 * kUnit}));
  EXPECT_EQ(into, std::vector<std::byte>(into.size(), kUntouched));
}

TEST_F(RequestTest, finished_request_cannot_be_cancelled) {
  file->unblock_reads();
  Future<ByteCount> future = session.read(100, std::span(into));
  ASSERT_TRUE(future.wait_for(kTestTimeout));
  future.cancel();
  EXPECT_EQ(*future.wait(), into.size());
}

// Closing.

TEST_F(RequestTest, close_fails_pending_and_later_requests) {
  std::vector<Future<View>> views;
  for (std::uint64_t i = 0; i < 16; ++i)
    views.push_back(session.view({i * kUnit, kUnit}));
  Future<ByteCount> gathered = session.read(100, std::span(into));
  const int descriptor = *gathered.event_fd();
  const Session copy = session;
  wait_for_read();
  copy.close();
  for (Future<View>& view : views)
    EXPECT_EQ(error_class(result_of(view)), ErrorClass::kClosed);
  ASSERT_TRUE(wait_until_readable(descriptor));
  EXPECT_TRUE(gathered.poll());
  const auto result = gathered.wait();
  ASSERT_EQ(error_class(result), ErrorClass::kClosed);
  EXPECT_EQ(result.error().path(), "words");
  EXPECT_EQ(error_class(session.read(0, std::span(into)).wait()), ErrorClass::kClosed);
  EXPECT_EQ(error_class(session.view({0, 1}).wait()), ErrorClass::kClosed);
  EXPECT_EQ(error_class(session.views({0, 9}).next().wait()), ErrorClass::kClosed);
  session.prefetch({0, 10});
  session.close();
  EXPECT_EQ(into, std::vector<std::byte>(into.size(), kUntouched));
}

TEST_F(RequestTest, close_wakes_every_kind_of_waiter) {
  constexpr int kThreads = 6;
  std::atomic<int> closed{0};
  const auto count = [&](const auto& result) {
    if (error_class(result) == ErrorClass::kClosed) ++closed;
  };
  ThreadExecutor executor;
  std::vector<std::byte> memory(16 * kUnit);
  {
    std::vector<std::jthread> waiters;
    for (std::uint64_t i = 0; i < kThreads; ++i) {
      waiters.emplace_back([&, i] {
        Future<View> view = session.view({i * kUnit, 2 * kUnit});
        count(result_of(view));
      });
    }
    for (std::uint64_t i = 0; i < kThreads; ++i) {
      session.read(i * kUnit, std::span(memory).subspan(i * kUnit, kUnit))
          .then(executor, [&](const Result<ByteCount>& result) { count(result); });
    }
    wait_for_read();
    std::vector<std::jthread> closers;
    for (int i = 0; i < 3; ++i)
      closers.emplace_back([&] { session.close(); });
  }
  EXPECT_TRUE(wait_until([&] { return closed == 2 * kThreads; })) << closed;
}

TEST_F(RequestTest, last_handle_closes_the_session) {
  Future<ByteCount> future = [&] {
    const Session own = fixture.open(file, {0, 16 * kUnit}, SmallPlan{});
    const Session copy = own;
    return copy.read(100, std::span(into));
  }();
  EXPECT_EQ(error_class(result_of(future)), ErrorClass::kClosed);
}

TEST_F(RequestTest, session_may_be_closed_in_its_continuation) {
  auto future = session.read(0, std::span(into)).then([&](Result<ByteCount> got) {
    session.close();
    return got;
  });
  file->unblock_reads();
  EXPECT_EQ(*result_of(future), into.size());
}

// Distant segments were read one after the other: each was beyond the splinters requested ahead.
TEST(SparseRequest, distant_segments_are_read_concurrently) {
  constexpr std::uint64_t kApart = 100 * kUnit;
  SessionFixture fixture;
  auto file = std::make_shared<GatedFile>(8 * kApart);
  const Session session =
      fixture.open(file, {0, 8 * kApart}, SmallPlan{.slots = 16, .slots_max = 16});
  file->block_reads();
  std::vector<ByteRange> ranges;
  for (std::uint64_t i = 0; i < 8; ++i)
    ranges.push_back({i * kApart, 100});
  std::vector<std::byte> into(ranges.size() * 100);
  auto read = session.read(ranges, into);
  EXPECT_TRUE(wait_until([&] { return file->waiting_count() > 1; }));
  file->unblock_reads();
  ASSERT_TRUE(result_of(std::move(read)));
  for (std::uint64_t i = 0; i < ranges.size(); ++i)
    EXPECT_TRUE(is_words(std::span(into).subspan(i * 100, 100), ranges[i].offset));
}

}  // namespace
}  // namespace forebay::read
