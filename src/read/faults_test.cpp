// SPDX-License-Identifier: Apache-2.0
// Files that fail, shrink or grow while a session reads them: requests for unreadable bytes get an
// Error with their offset, and all other requests succeed.
#include <forebay/session.hpp>

#include <atomic>
#include <cerrno>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "read/testing.hpp"
#include "storage/faulty.hpp"

namespace forebay::read {
namespace {

// Four pages, so that a part of a splinter can be bad.
constexpr std::uint64_t kSplinterBytes = 16_KiB;
constexpr std::uint64_t kSplinters = 16;
constexpr std::uint64_t kFaultyFileBytes = kSplinters * kSplinterBytes;

ReadPlan plan_of(std::uint64_t slots, std::uint64_t readahead_splinters) {
  return {.budget_bytes = slots * kSplinterBytes,
          .readahead_bytes = readahead_splinters * kSplinterBytes,
          .tuning = {.splinter_bytes = kSplinterBytes, .window_bytes = slots * kSplinterBytes}};
}

/// Whether waiting tasks read, or the agent alone.
enum class Reader : std::uint8_t { kTask, kAgent };

class Faults : public ::testing::TestWithParam<Reader> {
 protected:
  std::shared_ptr<GatedFile> make_file() {
    return std::make_shared<GatedFile>(
        kFaultyFileBytes, GetParam() == Reader::kAgent ? Access::kDirect : Access::kBuffered);
  }
  Session open_with_bad_byte(std::uint64_t bad_offset, const ReadPlan& plan) {
    auto inner = std::make_unique<GatedFile>(
        kFaultyFileBytes, GetParam() == Reader::kAgent ? Access::kDirect : Access::kBuffered);
    return fixture.open(std::make_shared<storage::FaultyFile>(
                            std::move(inner), storage::FileFaults{.bad_offset = bad_offset}),
                        {0, kFaultyFileBytes}, plan);
  }
  Result<ByteCount> read(const Session& session, ByteRange range) {
    std::vector<std::byte> into(range.size);
    return result_of(session.read(range.offset, std::span(into)));
  }

  SessionFixture fixture;
};

void expect_io_error(const Error& error) {
  EXPECT_EQ(error.kind(), ErrorClass::kIo);
  EXPECT_EQ(error.error_number(), EIO);
  EXPECT_EQ(error.path(), "words");
  EXPECT_EQ(error.operation(), "read");
  EXPECT_TRUE(error.offset_bytes());
}

TEST_P(Faults, bad_byte_fails_only_requests_that_contain_it) {
  constexpr std::uint64_t kBad = 5 * kSplinterBytes + 6000;
  for (const std::uint64_t readahead : {0, 4}) {
    const Session session = open_with_bad_byte(kBad, plan_of(4, readahead));
    for (std::uint64_t i = 0; i < kSplinters; ++i) {
      const ByteRange range{i * kSplinterBytes, kSplinterBytes};
      if (range.contains({kBad, 1})) {
        const auto got = read(session, range);
        ASSERT_FALSE(got);
        expect_io_error(got.error());
        EXPECT_GE(got.error().offset_bytes(), range.offset);
        EXPECT_LE(got.error().offset_bytes(), kBad);
        EXPECT_EQ(error_class(result_of(session.view(range))), ErrorClass::kIo);
        EXPECT_EQ(error_class(read(session, {kBad, 1})), ErrorClass::kIo);
      } else {
        EXPECT_TRUE(reads_words(session, range));
      }
    }
  }
}

// Its other pages can be read, whatever the unit of the session's reads.
TEST_P(Faults, rest_of_a_splinter_with_a_bad_byte_is_readable) {
  constexpr std::uint64_t kBad = 5 * kSplinterBytes + 6000;
  const Session session = open_with_bad_byte(kBad, plan_of(4, 2));
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(error_class(read(session, {kBad - 10, 20})), ErrorClass::kIo);
    EXPECT_TRUE(reads_words(session, {5 * kSplinterBytes, 4096}));
    EXPECT_TRUE(reads_words(session, {5 * kSplinterBytes + 8192, 8192}));
    EXPECT_TRUE(reads_words(session, {4 * kSplinterBytes + 100, kSplinterBytes}));
    const auto view = result_of(session.view({5 * kSplinterBytes + 8192, 2 * kSplinterBytes}));
    ASSERT_TRUE(view) << view.error().message();
    EXPECT_TRUE(is_words(view->bytes(), 5 * kSplinterBytes + 8192));
  }
}

TEST_P(Faults, list_around_a_bad_byte_succeeds) {
  constexpr std::uint64_t kBad = 5 * kSplinterBytes + 6000;
  const Session session = open_with_bad_byte(kBad, plan_of(4, 2));
  EXPECT_EQ(error_class(read(session, {0, kFaultyFileBytes})), ErrorClass::kIo);
  const std::vector<ByteRange> around{
      {9 * kSplinterBytes, kSplinterBytes}, {0, 5 * kSplinterBytes}, {6 * kSplinterBytes, 10}};
  std::vector<std::byte> into(6 * kSplinterBytes + 10);
  ASSERT_TRUE(result_of(session.read(around, std::span(into))));
  EXPECT_TRUE(is_words(std::span(into).first(kSplinterBytes), 9 * kSplinterBytes));
  EXPECT_TRUE(is_words(std::span(into).subspan(kSplinterBytes, 5 * kSplinterBytes), 0));
}

TEST_P(Faults, views_continue_after_a_bad_one) {
  constexpr std::uint64_t kBad = 5 * kSplinterBytes + 6000;
  const Session session = open_with_bad_byte(kBad, plan_of(4, 2));
  ViewSequence views = session.views({0, kFaultyFileBytes});
  std::uint64_t at = 0;
  int failed = 0;
  for (; !views.is_done(); at += kSplinterBytes) {
    const auto view = result_of(views.next());
    if (view) {
      EXPECT_TRUE(is_words(view->bytes(), at));
    } else {
      EXPECT_EQ(at, 5 * kSplinterBytes);
      ++failed;
    }
  }
  EXPECT_EQ(failed, 1);
  int seen = 0;
  const Status stopped =
      session.views({0, kFaultyFileBytes}).for_each([&](const View&) { ++seen; });
  EXPECT_EQ(error_class(stopped), ErrorClass::kIo);
  EXPECT_EQ(seen, 5);
}

Detached await_splinter(const Session& session,
                        std::uint64_t splinter,
                        std::atomic<int>& failed,
                        std::atomic<int>& left) {
  const auto view = co_await session.view({splinter * kSplinterBytes, kSplinterBytes});
  if (error_class(view) == ErrorClass::kIo) ++failed;
  if (view) {
    EXPECT_TRUE(is_words(view->bytes(), splinter * kSplinterBytes));
  }
  --left;
}

TEST_P(Faults, bad_splinter_fails_all_its_waiters) {
  const Session session = open_with_bad_byte(5 * kSplinterBytes + 6000, plan_of(4, 0));
  std::atomic<int> failed{0};
  std::atomic<int> left{20};
  std::vector<Future<View>> futures;
  for (int i = 0; i < 20; ++i) {
    futures.push_back(session.view({5 * kSplinterBytes, kSplinterBytes}));
    await_splinter(session, i % 2 == 0 ? 5 : 6, failed, left);
  }
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      EXPECT_EQ(error_class(read(session, {5 * kSplinterBytes, kSplinterBytes})), ErrorClass::kIo);
    });
  }
  ASSERT_TRUE(run_until(fixture.loop(), [&] { return left == 0; }));
  EXPECT_EQ(failed, 10);
  for (Future<View>& future : futures)
    EXPECT_EQ(error_class(result_of(future)), ErrorClass::kIo);
}

// Files that shrink.

template <class T>
void expect_short(const Result<T>& got, std::uint64_t missing_byte, std::uint64_t file_bytes) {
  ASSERT_EQ(error_class(got), ErrorClass::kShortFile) << missing_byte;
  EXPECT_EQ(got.error().offset_bytes(), missing_byte);
  EXPECT_EQ(got.error().path(), "words");
  EXPECT_NE(got.error().message().find(std::to_string(file_bytes)), std::string::npos)
      << got.error().message();
}

TEST_P(Faults, shrunk_file_fails_requests_past_its_new_end) {
  for (const std::uint64_t left : {std::uint64_t{0}, std::uint64_t{1}, 5 * kSplinterBytes,
                                   5 * kSplinterBytes + 6001, kFaultyFileBytes - 1}) {
    const auto file = make_file();
    const Session session = fixture.open(file, {0, kFaultyFileBytes}, plan_of(4, 0));
    ASSERT_TRUE(file->truncate(left));
    // In the second round most splinters have been evicted.
    for (int round = 0; round < 2; ++round) {
      for (std::uint64_t at = 0; at < kFaultyFileBytes; at += kSplinterBytes / 2) {
        const ByteRange range{at, kSplinterBytes / 2};
        if (range.end() <= left) {
          EXPECT_TRUE(reads_words(session, range)) << at << " of " << left;
        } else {
          expect_short(read(session, range), std::max(left, at), left);
          expect_short(result_of(session.view(range)), std::max(left, at), left);
        }
      }
      EXPECT_TRUE(reads_words(session, {0, left}));
      expect_short(read(session, {left, 1}), left, left);
      expect_short(read(session, {0, kFaultyFileBytes}), left, left);
    }
  }
}

TEST_P(Faults, readahead_past_the_new_end_fails_no_request) {
  const auto file = make_file();
  const Session session = fixture.open(file, {0, kFaultyFileBytes}, plan_of(8, 8));
  ASSERT_TRUE(file->truncate(9 * kSplinterBytes));
  ASSERT_TRUE(reads_words(session, {0, 9 * kSplinterBytes}));
  EXPECT_EQ(error_class(read(session, {15 * kSplinterBytes, kSplinterBytes})),
            ErrorClass::kShortFile);
  EXPECT_TRUE(reads_words(session, {0, 9 * kSplinterBytes}));
}

TEST_P(Faults, truncation_fails_only_waiters_past_the_new_end) {
  const auto file = make_file();
  file->block_reads();
  const Session session = fixture.open(file, {0, kFaultyFileBytes}, plan_of(kSplinters, 0));
  std::vector<Future<View>> futures;
  for (std::uint64_t i = 0; i < kSplinters; ++i)
    futures.push_back(session.view({i * kSplinterBytes, kSplinterBytes}));
  const std::uint64_t left = 9 * kSplinterBytes + 5000;
  ASSERT_TRUE(file->truncate(left));
  file->unblock_reads();
  for (std::uint64_t i = 0; i < kSplinters; ++i) {
    const auto view = result_of(futures[i]);
    if (i < 9) {
      ASSERT_TRUE(view) << view.error().message();
      EXPECT_TRUE(is_words(view->bytes(), i * kSplinterBytes));
    } else {
      ASSERT_EQ(error_class(view), ErrorClass::kShortFile);
      EXPECT_EQ(view.error().offset_bytes(), std::max(left, i * kSplinterBytes));
    }
  }
  EXPECT_TRUE(reads_words(session, {9 * kSplinterBytes, 5000}));
}

TEST_P(Faults, restored_bytes_can_be_read) {
  const auto file = make_file();
  const Session session = fixture.open(file, {0, kFaultyFileBytes}, plan_of(2, 0));
  ASSERT_TRUE(file->truncate(8 * kSplinterBytes));
  EXPECT_EQ(error_class(read(session, {10 * kSplinterBytes, 100})), ErrorClass::kShortFile);
  ASSERT_TRUE(
      file->write_at(word_bytes({8 * kSplinterBytes, 8 * kSplinterBytes}), 8 * kSplinterBytes));
  EXPECT_TRUE(reads_words(session, {10 * kSplinterBytes, 100}));
  EXPECT_TRUE(reads_words(session, {0, kFaultyFileBytes}));
}

TEST_P(Faults, growing_file_changes_nothing) {
  const auto file = make_file();
  const ByteRange extent{100, kFaultyFileBytes - 5000};
  const Session session = fixture.open(file, extent, plan_of(2, 2));
  EXPECT_TRUE(reads_words(session, {100, kSplinterBytes}));
  ASSERT_TRUE(file->write_at(std::vector<std::byte>(3 * kSplinterBytes), kFaultyFileBytes));
  EXPECT_TRUE(reads_words(session, extent));
  EXPECT_EQ(error_class(read(session, {extent.end(), 1})), ErrorClass::kOutOfRange);
}

INSTANTIATE_TEST_SUITE_P(Readers,
                         Faults,
                         ::testing::Values(Reader::kTask, Reader::kAgent),
                         [](const ::testing::TestParamInfo<Reader>& tested) {
                           return tested.param == Reader::kTask ? "task" : "agent";
                         });

}  // namespace
}  // namespace forebay::read
