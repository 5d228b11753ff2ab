// SPDX-License-Identifier: Apache-2.0
// Waits and what ends them. A stream whose storage is blocked lends no more memory than it has.
// Waits continue when storage does, and end when the stream is canceled.
#include <forebay/output_stream.hpp>

#include <future>
#include <thread>

#include <gtest/gtest.h>

#include "stream/testing.hpp"

namespace forebay::stream {
namespace {

class WaitingTest : public StreamTest {};

/// Runs `work` on a new thread.
template <class F>
auto run_async(F work) {
  return std::async(std::launch::async, std::move(work));
}

template <class T>
bool is_still_waiting(const std::future<T>& result) {
  return result.wait_for(std::chrono::milliseconds(20)) == std::future_status::timeout;
}

TEST_P(WaitingTest, memory_is_limited_by_the_plan) {
  fixture.gate.close();
  OutputStream out = fixture.make_stream({.buffers = 3});
  const OutputFile file = must(out.create(fixture / "data"));
  EXPECT_TRUE(is_ok(submit_all(out, file, {0, 3 * kBuffer})));
  EXPECT_FALSE(must(out.try_acquire()));
  auto late = run_async([&] { return out.acquire(); });
  EXPECT_TRUE(is_still_waiting(late));
  fixture.gate.open();
  auto buffer = must(late.get());
  EXPECT_EQ(buffer.bytes().size(), kBuffer);
  EXPECT_TRUE(is_ok(out.drain()));
  EXPECT_TRUE(is_pattern(fixture / "data", 3 * kBuffer));
  EXPECT_GT(out.report().producer_wait_s, 0.0);
}

TEST_P(WaitingTest, released_buffer_is_acquired_by_a_waiting_thread) {
  OutputStream out = fixture.make_stream({.buffers = 1});
  auto buffer = must(out.acquire());
  auto late = run_async([&] { return out.acquire().has_value(); });
  buffer.release();
  EXPECT_TRUE(late.get());
  EXPECT_TRUE(buffer.bytes().empty());
}

TEST_P(WaitingTest, a_future_of_a_buffer_is_ready_when_one_is_free) {
  fixture.gate.close();
  OutputStream out = fixture.make_stream({.buffers = 2});
  const OutputFile file = must(out.create(fixture / "data"));
  EXPECT_TRUE(out.acquire_async().poll());
  EXPECT_TRUE(is_ok(submit_all(out, file, {0, 2 * kBuffer})));
  Future<OutputBuffer> first = out.acquire_async();
  Future<OutputBuffer> second = out.acquire_async();
  {
    Future<OutputBuffer> dropped = out.acquire_async();
    EXPECT_FALSE(dropped.poll());
  }
  EXPECT_FALSE(first.poll());
  fixture.gate.open();
  EXPECT_TRUE(first.wait());
  EXPECT_TRUE(second.wait());
  EXPECT_TRUE(is_ok(out.drain()));
}

/// Submits piece `number` of the pattern.
Detached submit_piece(OutputStream& out, const OutputFile& file, std::uint64_t number, int& left) {
  constexpr std::uint64_t kPiece = 5000;
  auto buffer = co_await out.acquire_async();
  EXPECT_TRUE(buffer);
  if (buffer) {
    fill_pattern(buffer->bytes().first(kPiece), number * kPiece);
    EXPECT_TRUE(is_ok(out.submit(std::move(*buffer), file, number * kPiece, kPiece)));
  }
  --left;
}

TEST_P(WaitingTest, coroutines_share_buffers) {
  OutputStream out = fixture.make_stream({.buffers = 2});
  const OutputFile file = must(out.create(fixture / "data"));
  int left = 10;
  for (std::uint64_t number = 0; number < 10; ++number)
    submit_piece(out, file, number, left);
  while (left > 0)
    fixture.loop.wait();
  EXPECT_TRUE(is_ok(out.drain()));
  EXPECT_TRUE(is_pattern(fixture / "data", 50'000));
}

TEST_P(WaitingTest, cancel_ends_every_wait) {
  fixture.gate.close();
  OutputStream out = fixture.make_stream({.buffers = 2});
  const OutputFile file = must(out.create(fixture / "data"));
  EXPECT_TRUE(is_ok(submit_all(out, file, {0, 2 * kBuffer})));
  auto acquiring = run_async([&] { return error_class(out.acquire()); });
  auto draining = run_async([&] { return error_class(out.drain()); });
  auto syncing = run_async([&] { return error_class(file.sync()); });
  auto future = run_async([&] { return error_class(out.acquire_async().wait()); });
  EXPECT_TRUE(is_still_waiting(acquiring));
  EXPECT_TRUE(is_still_waiting(draining));
  EXPECT_TRUE(is_still_waiting(syncing));
  EXPECT_TRUE(is_still_waiting(future));
  out.cancel();
  EXPECT_EQ(acquiring.get(), ErrorClass::kCancelled);
  EXPECT_EQ(draining.get(), ErrorClass::kCancelled);
  EXPECT_EQ(syncing.get(), ErrorClass::kCancelled);
  EXPECT_EQ(future.get(), ErrorClass::kCancelled);
  EXPECT_EQ(error_class(out.try_acquire()), ErrorClass::kCancelled);
  std::array<WriteCompletion, 1> entries;
  EXPECT_EQ(error_class(out.poll_completions(entries)), ErrorClass::kCancelled);
  out.cancel();
  fixture.gate.open();  // the destructor waits for operations in flight
}

TEST_P(WaitingTest, cancel_drops_submissions_that_have_not_begun) {
  fixture.gate.close();
  OutputStream out = fixture.make_stream({.buffers = 8, .tuning = {.queue_depth = 1}});
  const OutputFile file = must(out.create(fixture / "data"));
  EXPECT_TRUE(is_ok(submit_all(out, file, {0, 8 * kBuffer})));
  out.cancel();
  fixture.gate.open();
  {
    const OutputStream ended = std::move(out);
  }
  EXPECT_LT(content_of(fixture / "data").size(), 8 * kBuffer);
}

TEST_P(WaitingTest, end_of_a_stream_waits_for_its_submissions) {
  {
    OutputStream out = fixture.make_stream();
    const OutputFile file = must(out.create(fixture / "data"));
    EXPECT_TRUE(is_ok(submit_all(out, file, {0, 500'001})));
  }
  EXPECT_TRUE(is_pattern(fixture / "data", 500'001));
}

TEST_P(WaitingTest, handles_that_outlive_their_stream_are_closed) {
  std::optional<OutputStream> out = fixture.make_stream();
  const OutputFile file = must(out->create(fixture / "data"));
  auto buffer = must(out->acquire());
  out.reset();
  EXPECT_EQ(error_class(file.drain()), ErrorClass::kClosed);
  EXPECT_EQ(error_class(file.publish()), ErrorClass::kClosed);
  buffer.release();
}

TEST_P(WaitingTest, completions_that_are_not_fetched_are_limited) {
  OutputStream out = fixture.make_stream({.completion_order = CompletionOrder::kAnyOrder});
  const OutputFile file = must(out.create(fixture / "data"));
  Status taken;
  for (std::size_t i = 0; i < CompletionList::kEntriesMax && taken; ++i)
    taken = submit_pattern(out, file, {0, 0});
  ASSERT_TRUE(is_ok(taken));
  EXPECT_EQ(error_class(submit_pattern(out, file, {0, 1})), ErrorClass::kLimit);
  std::vector<WriteCompletion> entries(CompletionList::kEntriesMax);
  EXPECT_TRUE(is_ok(out.drain()));
  EXPECT_EQ(must(out.poll_completions(entries)), CompletionList::kEntriesMax);
  EXPECT_TRUE(is_ok(submit_pattern(out, file, {0, 1})));
  EXPECT_TRUE(is_ok(out.drain()));
}

/// One MiB in flight in total: a stream with many bytes must not delay the other one until all are
/// written. Space is not reserved: its time in the file system does not depend on the order of
/// clients.
TEST_P(WaitingTest, busy_stream_does_not_starve_another_one) {
  StreamFixture narrow(GetParam(), {{{"/", 1_MiB, "a test"}}});
  narrow.gate.close();
  const StreamPlan plan{.buffer_bytes = 1_MiB,
                        .buffers = 16,
                        .tuning = {.request_bytes = 1_MiB, .preallocation = Preallocation::kNone}};
  OutputStream busy = narrow.make_stream(plan);
  OutputStream other = narrow.make_stream(plan);
  const OutputFile much = must(busy.create(narrow / "much"));
  const OutputFile little = must(other.create(narrow / "little"));
  EXPECT_TRUE(is_ok(submit_all(busy, much, {0, 16_MiB}, 1_MiB)));
  EXPECT_TRUE(is_ok(submit_all(other, little, {0, 1_MiB}, 1_MiB)));
  narrow.gate.open();
  EXPECT_TRUE(is_ok(busy.drain()));
  EXPECT_TRUE(is_ok(other.drain()));
  const auto requests = narrow.gate.requests();
  ASSERT_EQ(requests.size(), 17U);
  const auto position = std::ranges::find(requests, narrow / "little") - requests.begin();
  EXPECT_LE(position, 8);
  EXPECT_TRUE(is_pattern(narrow / "much", 16_MiB));
  EXPECT_TRUE(is_pattern(narrow / "little", 1_MiB));
}

INSTANTIATE_TEST_SUITE_P(All, WaitingTest, ::testing::ValuesIn(fault_free_configs()), config_name);

}  // namespace
}  // namespace forebay::stream
