// SPDX-License-Identifier: Apache-2.0
// What the prefetcher of a session pushes, cancels and counts. The session is a record of the
// calls.
#include "push/session_prefetcher.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <latch>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "push/testing.hpp"
#include "read/testing.hpp"

namespace forebay::push {
namespace {

using read::AccessOutcome;

constexpr std::uint64_t kUnit = 64_KiB;

ReadPlan on_demand_plan(std::uint64_t readahead_bytes) {
  return {.mode = Mode::kOnDemand,
          .budget_bytes = 8_MiB,
          .readahead_bytes = readahead_bytes,
          .tuning = {.splinter_bytes = kUnit,
                     .window_bytes = 8_MiB,
                     .request_bytes = kUnit,
                     .queue_depth = 16}};
}

class RecordedSession final : public read::IdleSession {
 public:
  explicit RecordedSession(std::uint64_t readahead_bytes = 4_MiB)
      : IdleSession({.file = read::word_file(kUnit),
                     .extent = {0, 1ULL << 30U},
                     .plan = on_demand_plan(readahead_bytes)}) {}

  void push(std::span<const read::SplinterRequest> requests, std::uint64_t) override {
    pushed.insert(pushed.end(), requests.begin(), requests.end());
  }
  void cancel_push(std::span<const read::SplinterIndex> splinters) override {
    cancelled.insert(cancelled.end(), splinters.begin(), splinters.end());
  }

  std::vector<read::SplinterRequest> pushed;
  std::vector<read::SplinterIndex> cancelled;
};

class SessionPrefetcherTest : public ::testing::Test {
 protected:
  void read(std::uint64_t offset,
            std::uint64_t size = 1024,
            AccessOutcome outcome = AccessOutcome::kHit) {
    prefetcher.observe({offset, size}, outcome);
  }
  void read_stride(std::uint64_t stride, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i)
      read(i * stride);
  }
  PrefetchReport report() const {
    PrefetchReport counts;
    prefetcher.add_counts(counts);
    return counts;
  }

  RecordedSession session;
  SessionPrefetcher prefetcher{session, {}};
};

TEST_F(SessionPrefetcherTest, wide_stride_pushes_only_the_bytes_of_reads) {
  read_stride(4 * kUnit, 50);
  ASSERT_GT(session.pushed.size(), 50U);
  EXPECT_EQ(session.pushed[1].splinter, 12U);
  EXPECT_EQ(session.pushed[1].part.size(), 1024U);
  EXPECT_EQ(session.granularity(), read::LoadGranularity::kExact);
}

TEST_F(SessionPrefetcherTest, dense_reads_push_whole_splinters_once) {
  read_stride(4096, 200);
  ASSERT_GE(session.pushed.size(), 12U);
  for (const read::SplinterRequest& request : session.pushed)
    EXPECT_EQ(request.part.size(), kUnit);
  EXPECT_LE(session.pushed.size(), 52U);
  EXPECT_EQ(session.granularity(), read::LoadGranularity::kSplinter);
}

TEST_F(SessionPrefetcherTest, uses_of_pushes_increase) {
  read_stride(4 * kUnit, 20);
  for (std::size_t i = 1; i < session.pushed.size(); ++i)
    EXPECT_GT(session.pushed[i].use, session.pushed[i - 1].use);
}

TEST_F(SessionPrefetcherTest, broken_pattern_cancels_what_was_pushed) {
  read_stride(4 * kUnit, 20);
  EXPECT_TRUE(session.cancelled.empty());
  read(999'999'999);
  EXPECT_FALSE(session.cancelled.empty());
}

TEST_F(SessionPrefetcherTest, predictions_beyond_the_extent_are_not_pushed) {
  const std::uint64_t start = (1ULL << 30U) - 10 * 4 * kUnit;
  for (std::uint64_t i = 0; i < 9; ++i)
    read(start + i * 4 * kUnit);
  for (const read::SplinterRequest& request : session.pushed)
    EXPECT_LT(request.splinter, session.geometry().count());
}

TEST_F(SessionPrefetcherTest, outcomes_are_counted) {
  read(0, 1024, AccessOutcome::kMiss);
  read(4 * kUnit, 1024, AccessOutcome::kMiss);
  read(8 * kUnit, 1024, AccessOutcome::kLate);
  read(12 * kUnit, 1024, AccessOutcome::kHit);
  read(16 * kUnit, 1024, AccessOutcome::kMiss);  // it was pushed: evicted
  read(20 * kUnit, 1024, AccessOutcome::kPartial);
  EXPECT_EQ(report().hits, 1U);
  EXPECT_EQ(report().late, 2U);
  EXPECT_EQ(report().misses, 3U);
  EXPECT_EQ(report().early, 1U);
}

TEST_F(SessionPrefetcherTest, hints_are_pushed_at_once_and_errors_name_their_place) {
  ASSERT_TRUE(prefetcher.hint("read {200 x (262144 i, 1024)}"));
  EXPECT_EQ(session.pushed.size(), 16U);
  EXPECT_EQ(session.pushed[1].part.size(), 1024U);
  const Status wrong = prefetcher.hint("read {200 y (4096 i, 1024)}");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().kind(), ErrorClass::kInvalidArgument);
  EXPECT_NE(wrong.error().message().find("column"), std::string::npos) << wrong.error().message();
  EXPECT_FALSE(prefetcher.hint("write {200 x (4096 i, 1024)}"));
}

TEST_F(SessionPrefetcherTest, signature_beyond_64_bits_is_an_error) {
  const Status wrong = prefetcher.hint("read {9000000000 x (9000000000 i, 1024)}");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().kind(), ErrorClass::kInvalidArgument);
}

TEST_F(SessionPrefetcherTest, list_of_reads_is_followed_in_its_order) {
  std::vector<ByteRange> reads;
  for (const trace::Access& access : permuted(500, 1))
    reads.push_back({access.offset * 32, 512});
  ASSERT_TRUE(prefetcher.hint(reads));
  for (const ByteRange& range : reads)
    read(range.offset, range.size);
  EXPECT_TRUE(session.cancelled.empty());
  EXPECT_EQ(session.pushed.size(), 500U);
  ASSERT_TRUE(prefetcher.hint(std::span<const ByteRange>()));
}

TEST_F(SessionPrefetcherTest, streams_of_threads_do_not_disturb_each_other) {
  std::thread other([&] { read_stride(4 * kUnit, 20); });
  other.join();
  const std::size_t before = session.pushed.size();
  for (std::uint64_t i = 0; i < 20; ++i)
    read(512_MiB + i * 3 * kUnit);
  EXPECT_GT(session.pushed.size(), before + 20);
  EXPECT_TRUE(session.cancelled.empty());
}

TEST_F(SessionPrefetcherTest, oldest_of_too_many_streams_is_dropped) {
  read_stride(4 * kUnit, 20);
  std::latch all(SessionPrefetcher::kStreamsMax);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < SessionPrefetcher::kStreamsMax; ++i) {
    threads.emplace_back([&] {
      read(0);
      all.arrive_and_wait();  // the identifier of a thread that has ended is used again
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_FALSE(session.cancelled.empty());
  const std::size_t before = session.pushed.size();
  read(20 * 4 * kUnit);  // a new stream, without predictions
  EXPECT_EQ(session.pushed.size(), before);
}

TEST_F(SessionPrefetcherTest, huge_predicted_read_pushes_only_as_much_as_may_be_ahead) {
  for (std::uint64_t i = 0; i < 4; ++i)
    read(i * 100'000'000, 90'000'000);
  EXPECT_GT(session.pushed.size(), 0U);
  EXPECT_LE(session.pushed.size(), 4 * 32U);
}

TEST_F(SessionPrefetcherTest, nothing_is_pushed_after_stop) {
  prefetcher.stop();
  read_stride(4 * kUnit, 20);
  EXPECT_TRUE(session.pushed.empty());
}

TEST_F(SessionPrefetcherTest, large_reads_are_pushed_only_as_far_as_storage_is_busy) {
  ASSERT_TRUE(prefetcher.hint("read {3 x (0, 1000000000)}"));
  EXPECT_LE(session.pushed.size(), 3 * 32U);
  read(0, 1'000'000'000);
  read(1);
  EXPECT_LE(session.cancelled.size(), 3 * 32U);
}

TEST_F(SessionPrefetcherTest, stop_waits_for_the_function) {
  std::atomic<bool> is_inside{false};
  ASSERT_TRUE(prefetcher.preexecute([&is_inside]() -> std::optional<ByteRange> {
    is_inside = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    is_inside = false;
    return ByteRange{0, 8};
  }));
  ASSERT_TRUE(read::wait_until([&] { return is_inside.load(); }));
  prefetcher.stop();
  EXPECT_FALSE(is_inside);
}

TEST(SessionPrefetcherMemory, session_without_readahead_only_counts) {
  RecordedSession session(0);
  SessionPrefetcher prefetcher(session, {});
  for (std::uint64_t i = 0; i < 20; ++i)
    prefetcher.observe({i * 4 * kUnit, 1024}, AccessOutcome::kMiss);
  PrefetchReport counts;
  prefetcher.add_counts(counts);
  EXPECT_EQ(counts.misses, 20U);
  EXPECT_TRUE(session.pushed.empty());
}

TEST(SessionPrefetcherMemory, session_without_readahead_learns) {
  RecordedSession session(0);
  const auto learned = std::make_shared<LearnedHints>();
  SessionPrefetcher prefetcher(session, {.learned = learned});
  for (std::uint64_t i = 0; i < 20; ++i)
    prefetcher.observe({i * 4 * kUnit, 1024}, AccessOutcome::kHit);
  prefetcher.stop();
  EXPECT_EQ(learned->merge({}).size(), 1U);
  EXPECT_TRUE(session.pushed.empty());
}

TEST(SessionPrefetcherMemory, stored_hint_leaves_no_miss) {
  RecordedSession session;
  const auto signature = std::make_shared<const trace::Signature>(
      trace::parse_signature("read {200 x (262144 i, 1024)}").value());
  SessionPrefetcher prefetcher(session, {.stored = {{HintOrigin::kProfile, signature}}});
  prefetcher.observe({0, 1024}, AccessOutcome::kMiss);
  EXPECT_GE(session.pushed.size(), 15U);
  EXPECT_EQ(session.pushed.front().splinter, 4U);
}

TEST(SessionPrefetcherMemory, stored_hint_continues_a_hint_of_the_program) {
  RecordedSession session;
  const auto signature = std::make_shared<const trace::Signature>(
      trace::parse_signature("read (0, 8), (9000000, 8), (500000, 8), (7000000, 8)").value());
  SessionPrefetcher prefetcher(session, {.stored = {{HintOrigin::kHintFile, signature}}});
  ASSERT_TRUE(prefetcher.hint(std::array{ByteRange{0, 8}}));
  prefetcher.observe({0, 8}, AccessOutcome::kHit);
  EXPECT_EQ(session.pushed.size(), 4U);
}

TEST(SessionPrefetcherMemory, parametric_hint_pushes_once_it_is_bound) {
  RecordedSession session;
  const auto signature = std::make_shared<const ParametricSignature>(
      parse_parametric_signature("read {n x (start + stride i, size)}",
                                 {"n", "start", "stride", "size"})
          .value());
  SessionPrefetcher prefetcher(session, {.stored = {{HintOrigin::kSource, nullptr, signature}}});
  prefetcher.observe({0, 1024}, AccessOutcome::kMiss);
  EXPECT_EQ(session.pushed.size(), 0U);
  prefetcher.observe({262144, 1024}, AccessOutcome::kMiss);
  EXPECT_EQ(session.pushed.size(), 16U);
  EXPECT_EQ(session.pushed.front().splinter, 8U);
}

TEST(SessionPrefetcherMemory, parametric_hint_that_cannot_begin_is_not_used) {
  RecordedSession session;
  const auto signature = std::make_shared<const ParametricSignature>(
      parse_parametric_signature("read {n x (64 + 262144 i, 1024)}", {"n"}).value());
  SessionPrefetcher prefetcher(session, {.stored = {{HintOrigin::kSource, nullptr, signature}}});
  prefetcher.observe({0, 1024}, AccessOutcome::kMiss);
  prefetcher.observe({64, 1024}, AccessOutcome::kMiss);
  EXPECT_LE(session.pushed.size(), 1U);
}

}  // namespace
}  // namespace forebay::push
