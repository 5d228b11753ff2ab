// SPDX-License-Identifier: Apache-2.0
// Sessions with Mode::kOnDemand: bytes, memory, faults, and files that change.
#include <forebay/runtime.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing.hpp"
#include "read/testing.hpp"

namespace forebay {
namespace {

using read::is_words;
using read::Random;
using read::word_bytes;
using read::write_words;

constexpr std::uint64_t kOnDemandFileBytes = 8_MiB;

class OnDemandTest : public ::testing::Test {
 protected:
  OnDemandTest() { write_words(path_, kOnDemandFileBytes); }

  Session open(ReadPlan plan = {}) {
    plan.mode = Mode::kOnDemand;
    // Files of tests are in the page cache, from which nothing is pushed by default.
    if (!plan.readahead_bytes) plan.readahead_bytes = 4_MiB;
    return runtime_.open_file(path_).value().read_session(plan).value();
  }
  static ::testing::AssertionResult reads(const Session& session, ByteRange range) {
    std::vector<std::byte> into(range.size);
    const auto got = session.read(range.offset, into).wait();
    if (!got) return ::testing::AssertionFailure() << got.error().message();
    return is_words(into, range.offset);
  }
  /// Replaces bytes of the file by zeros, through Forebay.
  void overwrite(ByteRange range) {
    auto out = runtime_.create_output_stream({.buffer_bytes = 64_KiB});
    auto file = out->create(path_, {.existing_content = ExistingContent::kKeep});
    ASSERT_TRUE(file) << file.error().message();
    const std::vector<std::byte> zeros(range.size);
    ASSERT_TRUE(out->write(*file, range.offset, zeros));
    ASSERT_TRUE(out->drain());
  }

  const TemporaryDirectory directory_;
  const std::string path_ = directory_ / "data";
  Runtime runtime_;
};

TEST_F(OnDemandTest, strides_are_pushed_and_their_bytes_are_right) {
  const Session session = open();
  for (std::uint64_t i = 0; i < 100; ++i) {
    ASSERT_TRUE(reads(session, {i * 80'000, 1000}));
  }
  const PrefetchReport report = session.report().prefetch;
  EXPECT_EQ(report.hits + report.late + report.misses, 100U);
  EXPECT_LE(report.misses, 5U);
}

TEST_F(OnDemandTest, hint_leaves_no_miss) {
  const Session session = open();
  ASSERT_TRUE(session.hint("read {100 x (80000 i, 1000)}"));
  for (std::uint64_t i = 0; i < 100; ++i)
    ASSERT_TRUE(reads(session, {i * 80'000, 1000}));
  EXPECT_EQ(session.report().prefetch.misses, 0U);
}

TEST_F(OnDemandTest, hint_for_a_declared_session_is_an_error_that_names_the_mode) {
  const Session session = runtime_.open_file(path_).value().read_session().value();
  const Status hinted = session.hint("read {100 x (80000 i, 1000)}");
  ASSERT_FALSE(hinted);
  EXPECT_EQ(hinted.error().kind(), ErrorClass::kInvalidArgument);
  EXPECT_NE(hinted.error().message().find("on demand"), std::string::npos);
  EXPECT_NE(hinted.error().message().find(path_), std::string::npos);
}

TEST_F(OnDemandTest, hint_beyond_the_session_is_an_error_and_in_a_signature_is_ignored) {
  const Session session = open();
  const std::vector<ByteRange> beyond = {{0, 10}, {kOnDemandFileBytes, 1}};
  EXPECT_EQ(session.hint(beyond).error().kind(), ErrorClass::kOutOfRange);
  ASSERT_TRUE(session.hint("read {1000000 x (800000 i, 1000)}"));
  EXPECT_TRUE(reads(session, {0, 1000}));
}

TEST_F(OnDemandTest, cache_of_one_splinter_serves_all_reads) {
  const Session session =
      open({.budget_bytes = 4_KiB, .tuning = {.splinter_bytes = 4_KiB, .window_bytes = 4_KiB}});
  for (std::uint64_t i = 0; i < 200; ++i)
    ASSERT_TRUE(reads(session, {i * 40'000 + 5000, 6000}));
  EXPECT_EQ(session.report().window_bytes, 4_KiB);
}

TEST_F(OnDemandTest, threads_with_patterns_and_noise_get_their_bytes_from_a_small_window) {
  const Session session = open({.budget_bytes = 1_MiB});
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (std::uint64_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      Random random(thread);
      for (std::uint64_t i = 0; i < 400; ++i) {
        const bool is_noise = random.one_in(8);
        const ByteRange range = is_noise ? random.range({0, kOnDemandFileBytes}, 100'000)
                                         : ByteRange{thread * 1_MiB + i * 4096, 3000};
        if (!reads(session, range)) ++wrong;
        if (random.one_in(64) && !session.view(range).wait()) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(OnDemandTest, file_that_shrinks_under_a_push_gives_an_error_or_former_bytes) {
  const Session session = open();
  for (std::uint64_t i = 0; i < 10; ++i)
    ASSERT_TRUE(reads(session, {i * 80'000, 1000}));
  std::filesystem::resize_file(path_, 1_MiB);
  std::vector<std::byte> into(1000);
  int errors = 0;
  for (std::uint64_t i = 10; i < 100; ++i) {
    const auto got = session.read(i * 80'000, into).wait();
    if (got) {
      EXPECT_TRUE(is_words(into, i * 80'000));
    } else {
      EXPECT_EQ(got.error().kind(), ErrorClass::kShortFile);
      ++errors;
    }
  }
  EXPECT_GT(errors, 30);
  EXPECT_TRUE(reads(session, {0, 1000}));
}

TEST_F(OnDemandTest, write_through_forebay_replaces_cached_bytes) {
  const Session session = open();
  ASSERT_TRUE(reads(session, {100'000, 50'000}));
  const auto view = session.view({110'000, 100}).wait();
  overwrite({110'000, 1000});
  std::vector<std::byte> into(1000);
  ASSERT_TRUE(session.read(110'000, into).wait());
  EXPECT_EQ(into, std::vector<std::byte>(1000));
  ASSERT_TRUE(reads(session, {100'000, 10'000}));
  ASSERT_TRUE(reads(session, {111'000, 39'000}));
  // The View keeps what it had.
  EXPECT_TRUE(is_words(view->bytes(), 110'000));
}

TEST_F(OnDemandTest, reads_see_finished_writes_and_views_stay_while_a_stream_writes) {
  const Session session = open({.budget_bytes = 1_MiB});
  auto out = runtime_.create_output_stream({.buffer_bytes = 64_KiB});
  auto file = out->create(path_, {.existing_content = ExistingContent::kKeep});
  ASSERT_TRUE(file) << file.error().message();
  constexpr ByteRange kWritten{0, 512_KiB};
  std::atomic<bool> has_ended{false};
  std::atomic<int> changed{0};
  std::vector<std::thread> readers;
  for (std::uint64_t thread = 0; thread < 3; ++thread) {
    readers.emplace_back([&, thread] {
      Random random(thread);
      while (!has_ended) {
        const ByteRange range = random.range(kWritten, 5000);
        const auto view = session.view(range).wait();
        const std::vector<std::byte> before(view->bytes().begin(), view->bytes().end());
        std::vector<std::byte> into(500);
        if (!session.read(random.uniform(kWritten.size), into).wait()) ++changed;
        if (!std::ranges::equal(before, view->bytes())) ++changed;
      }
    });
  }
  Random random(99);
  int stale = 0;
  for (int i = 1; i <= 300; ++i) {
    const ByteRange range = random.range(kWritten, 20'000);
    const std::vector<std::byte> written(range.size, static_cast<std::byte>(i));
    std::vector<std::byte> into(range.size);
    if (!out->write(*file, range.offset, written) || !out->drain()) ++stale;
    if (!session.read(range.offset, into).wait() || into != written) ++stale;
  }
  has_ended = true;
  for (std::thread& thread : readers)
    thread.join();
  EXPECT_EQ(stale, 0);
  EXPECT_EQ(changed, 0);
}

TEST_F(OnDemandTest, truncation_by_a_stream_discards_cached_bytes) {
  const Session session = open();
  ASSERT_TRUE(reads(session, {100'000, 1000}));
  auto out = runtime_.create_output_stream({.buffer_bytes = 64_KiB});
  ASSERT_TRUE(out->create(path_));
  std::vector<std::byte> into(1000);
  EXPECT_EQ(session.read(100'000, into).wait().error().kind(), ErrorClass::kShortFile);
}

TEST_F(OnDemandTest, changed_file_is_read_anew_by_a_new_session) {
  ASSERT_TRUE(reads(open(), {100'000, 1000}));
  std::filesystem::remove(path_);
  std::filesystem::resize_file((write_words(path_, 1_MiB), path_), kOnDemandFileBytes);
  const Session session = open();
  std::vector<std::byte> into(1000);
  ASSERT_TRUE(session.read(2_MiB, into).wait());
  EXPECT_EQ(into, std::vector<std::byte>(1000));
}

/// Reads that no predictor can learn: each word of the file decides the next offset.
std::uint64_t chained_offset(std::uint64_t step) { return step * step * 7919 % 2000 * 4096; }

TEST_F(OnDemandTest, pre_executed_reads_are_read_ahead_and_count_as_the_programs_own) {
  for (const auto mode : {PreExecutionMode::kThread, PreExecutionMode::kIdle}) {
    const Session session = open({.pre_execution_mode = mode});
    // The function follows the data itself. It must not keep its session open.
    const auto file = runtime_.open_file(path_).value();
    const auto own = file.read_session({.mode = Mode::kOnDemand}).value();
    auto next = [own, step = std::uint64_t{0}]() mutable -> std::optional<ByteRange> {
      if (step == 300) return std::nullopt;
      std::array<std::byte, 16> word{};
      const ByteRange range{chained_offset(step++), word.size()};
      if (!own.read(range.offset, word).wait()) return std::nullopt;
      return range;
    };
    ASSERT_TRUE(session.preexecute(next));
    for (std::uint64_t step = 0; step < 300; ++step)
      ASSERT_TRUE(reads(session, {chained_offset(step), 16}));
    const PrefetchReport report = session.report().prefetch;
    EXPECT_EQ(report.hits + report.late + report.misses, 300U);
    EXPECT_EQ(own.report().prefetch.hits + own.report().prefetch.misses, 0U);
  }
}

TEST_F(OnDemandTest, function_that_reads_its_own_session_ends_with_it) {
  const Session session = open();
  auto next = [session, step = std::uint64_t{0}]() mutable -> std::optional<ByteRange> {
    std::array<std::byte, 16> word{};
    const ByteRange range{chained_offset(step++), word.size()};
    if (!session.read(range.offset, word).wait()) return std::nullopt;
    return range;
  };
  ASSERT_TRUE(session.preexecute(next));
  for (std::uint64_t step = 0; step < 50; ++step)
    ASSERT_TRUE(reads(session, {chained_offset(step), 16}));
  session.close();
}

TEST_F(OnDemandTest, function_that_throws_leaves_the_reads_to_the_program) {
  const Session session = open();
  ASSERT_TRUE(session.preexecute(
      []() -> std::optional<ByteRange> { throw std::runtime_error("no next read"); }));
  for (std::uint64_t i = 0; i < 50; ++i)
    ASSERT_TRUE(reads(session, {i * 80'000, 1000}));
}

TEST_F(OnDemandTest, function_that_does_not_return_delays_the_end_by_a_bounded_time) {
  auto released = std::make_shared<std::promise<void>>();
  {
    const Session session = open();
    ASSERT_TRUE(
        session.preexecute([wait = released->get_future().share()]() -> std::optional<ByteRange> {
          wait.wait();
          return std::nullopt;
        }));
    for (std::uint64_t i = 0; i < 50; ++i)
      ASSERT_TRUE(reads(session, {i * 80'000, 1000}));
  }
  released->set_value();
}

TEST_F(OnDemandTest, closed_session_refuses_hints_and_counts_stay) {
  const Session session = open();
  ASSERT_TRUE(reads(session, {0, 1000}));
  session.close();
  EXPECT_EQ(session.hint("read (0, 1)").error().kind(), ErrorClass::kClosed);
  const PrefetchReport report = session.report().prefetch;
  EXPECT_EQ(report.hits + report.late + report.misses, 1U);
}

}  // namespace
}  // namespace forebay
