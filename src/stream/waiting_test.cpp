// SPDX-License-Identifier: Apache-2.0
// Who waits, for what, and who ends it: a stream whose storage is held up lends no more memory than
// it has, and whoever waits goes on when storage does, or when the stream is cancelled.
#include <forebay/output_stream.hpp>

#include <future>
#include <thread>

#include <gtest/gtest.h>

#include "stream/testing.hpp"

namespace forebay::stream {
namespace {

class Waiting : public StreamTest {};

/// Runs on a thread of its own.
template <class F>
auto elsewhere(F work) {
  return std::async(std::launch::async, std::move(work));
}

template <class T>
bool is_still_waiting(const std::future<T>& result) {
  return result.wait_for(std::chrono::milliseconds(20)) == std::future_status::timeout;
}

TEST_P(Waiting, memory_is_what_the_plan_says_and_not_more) {
  site.gate.close();
  OutputStream out = site.make_stream({.buffers = 3});
  const OutputFile file = must(out.create(site / "data"));
  EXPECT_TRUE(works(submit_all(out, file, {0, 3 * kBuffer})));
  EXPECT_FALSE(must(out.try_acquire()));
  auto late = elsewhere([&] { return out.acquire(); });
  EXPECT_TRUE(is_still_waiting(late));
  site.gate.open();
  auto buffer = must(late.get());
  EXPECT_EQ(buffer.bytes().size(), kBuffer);
  EXPECT_TRUE(works(out.drain()));
  EXPECT_TRUE(is_pattern(site / "data", 3 * kBuffer));
  EXPECT_GT(out.report().producer_wait_s, 0.0);
}

TEST_P(Waiting, a_released_buffer_is_somebody_elses) {
  OutputStream out = site.make_stream({.buffers = 1});
  auto buffer = must(out.acquire());
  auto late = elsewhere([&] { return out.acquire().has_value(); });
  buffer.release();
  EXPECT_TRUE(late.get());
  EXPECT_TRUE(buffer.bytes().empty());
}

TEST_P(Waiting, a_future_of_a_buffer_is_ready_when_one_is_free) {
  site.gate.close();
  OutputStream out = site.make_stream({.buffers = 2});
  const OutputFile file = must(out.create(site / "data"));
  EXPECT_TRUE(out.acquire_async().poll());
  EXPECT_TRUE(works(submit_all(out, file, {0, 2 * kBuffer})));
  Future<OutputBuffer> first = out.acquire_async();
  Future<OutputBuffer> second = out.acquire_async();
  {
    Future<OutputBuffer> dropped = out.acquire_async();
    EXPECT_FALSE(dropped.poll());
  }
  EXPECT_FALSE(first.poll());
  site.gate.open();
  EXPECT_TRUE(first.wait());
  EXPECT_TRUE(second.wait());
  EXPECT_TRUE(works(out.drain()));
}

/// Submits piece `number` of the pattern.
Detached submit_piece(OutputStream& out, const OutputFile& file, std::uint64_t number, int& left) {
  constexpr std::uint64_t kPiece = 5000;
  auto buffer = co_await out.acquire_async();
  EXPECT_TRUE(buffer);
  if (buffer) {
    fill_pattern(buffer->bytes().first(kPiece), number * kPiece);
    EXPECT_TRUE(works(out.submit(std::move(*buffer), file, number * kPiece, kPiece)));
  }
  --left;
}

TEST_P(Waiting, coroutines_take_turns_with_buffers) {
  OutputStream out = site.make_stream({.buffers = 2});
  const OutputFile file = must(out.create(site / "data"));
  int left = 10;
  for (std::uint64_t number = 0; number < 10; ++number)
    submit_piece(out, file, number, left);
  while (left > 0)
    site.loop.wait();
  EXPECT_TRUE(works(out.drain()));
  EXPECT_TRUE(is_pattern(site / "data", 50'000));
}

TEST_P(Waiting, cancelling_ends_every_wait) {
  site.gate.close();
  OutputStream out = site.make_stream({.buffers = 2});
  const OutputFile file = must(out.create(site / "data"));
  EXPECT_TRUE(works(submit_all(out, file, {0, 2 * kBuffer})));
  auto acquiring = elsewhere([&] { return error_class(out.acquire()); });
  auto draining = elsewhere([&] { return error_class(out.drain()); });
  auto syncing = elsewhere([&] { return error_class(file.sync()); });
  auto future = elsewhere([&] { return error_class(out.acquire_async().wait()); });
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
  std::array<Written, 1> entries;
  EXPECT_EQ(error_class(out.written(entries)), ErrorClass::kCancelled);
  out.cancel();
  site.gate.open();  // its end waits for what is under way
}

TEST_P(Waiting, what_was_not_begun_when_a_stream_was_cancelled_is_dropped) {
  site.gate.close();
  OutputStream out = site.make_stream({.buffers = 8, .queue_depth = 1});
  const OutputFile file = must(out.create(site / "data"));
  EXPECT_TRUE(works(submit_all(out, file, {0, 8 * kBuffer})));
  out.cancel();
  site.gate.open();
  {
    const OutputStream ended = std::move(out);
  }
  EXPECT_LT(content_of(site / "data").size(), 8 * kBuffer);
}

TEST_P(Waiting, the_end_of_a_stream_waits_for_what_was_submitted) {
  {
    OutputStream out = site.make_stream();
    const OutputFile file = must(out.create(site / "data"));
    EXPECT_TRUE(works(submit_all(out, file, {0, 500'001})));
  }
  EXPECT_TRUE(is_pattern(site / "data", 500'001));
}

TEST_P(Waiting, handles_that_outlive_their_stream_are_closed) {
  std::optional<OutputStream> out = site.make_stream();
  const OutputFile file = must(out->create(site / "data"));
  auto buffer = must(out->acquire());
  out.reset();
  EXPECT_EQ(error_class(file.drain()), ErrorClass::kClosed);
  EXPECT_EQ(error_class(file.publish()), ErrorClass::kClosed);
  buffer.release();
}

TEST_P(Waiting, completions_that_nobody_takes_are_refused_at_some_point) {
  OutputStream out = site.make_stream({.completions = Completions::kAnyOrder});
  const OutputFile file = must(out.create(site / "data"));
  Status taken;
  for (std::size_t i = 0; i < CompletionList::kEntriesMax && taken; ++i)
    taken = submit_pattern(out, file, {0, 0});
  ASSERT_TRUE(works(taken));
  EXPECT_EQ(error_class(submit_pattern(out, file, {0, 1})), ErrorClass::kLimit);
  std::vector<Written> entries(CompletionList::kEntriesMax);
  EXPECT_TRUE(works(out.drain()));
  EXPECT_EQ(must(out.written(entries)), CompletionList::kEntriesMax);
  EXPECT_TRUE(works(submit_pattern(out, file, {0, 1})));
  EXPECT_TRUE(works(out.drain()));
}

/// One MiB under way in all: who has much to write may not keep the others waiting for all of it.
/// Space is not reserved: how long a file system takes for that is no matter of turns.
TEST_P(Waiting, a_busy_stream_leaves_its_turn_to_another_one) {
  Site narrow(GetParam(), {{{"/", 1_MiB, "a test"}}});
  narrow.gate.close();
  const StreamPlan plan{.buffer_bytes = 1_MiB,
                        .buffers = 16,
                        .request_bytes = 1_MiB,
                        .preallocation = Preallocation::kNone};
  OutputStream busy = narrow.make_stream(plan);
  OutputStream other = narrow.make_stream(plan);
  const OutputFile much = must(busy.create(narrow / "much"));
  const OutputFile little = must(other.create(narrow / "little"));
  EXPECT_TRUE(works(submit_all(busy, much, {0, 16_MiB}, 1_MiB)));
  EXPECT_TRUE(works(submit_all(other, little, {0, 1_MiB}, 1_MiB)));
  narrow.gate.open();
  EXPECT_TRUE(works(busy.drain()));
  EXPECT_TRUE(works(other.drain()));
  const auto requests = narrow.gate.requests();
  ASSERT_EQ(requests.size(), 17U);
  const auto turn = std::ranges::find(requests, narrow / "little") - requests.begin();
  EXPECT_LE(turn, 8);
  EXPECT_TRUE(is_pattern(narrow / "much", 16_MiB));
  EXPECT_TRUE(is_pattern(narrow / "little", 1_MiB));
}

INSTANTIATE_TEST_SUITE_P(All, Waiting, ::testing::ValuesIn(sound_ways()), way_name);

}  // namespace
}  // namespace forebay::stream
