// SPDX-License-Identifier: Apache-2.0
// Limits, counters, retention and memory of a session.
#include <forebay/session.hpp>

#include <array>
#include <atomic>
#include <cstring>
#include <numeric>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "read/testing.hpp"

namespace forebay::read {
namespace {

class SessionTest : public ::testing::Test {
 protected:
  SessionFixture fixture;
};

TEST_F(SessionTest, views_across_splinters_are_rarely_copies) {
  constexpr std::uint64_t kSlots = 8;
  const Session session = fixture.open_words(
      64 * kUnit, SmallPlan{.slots = kSlots, .slots_max = kSlots, .readahead = 1});
  const std::byte* lowest = nullptr;
  int wrapped = 0;
  // Of splinters that are not contiguous: their number depends on the order of loads.
  std::uint64_t copies = 0;
  for (std::uint64_t at = 0; at < 64 * kUnit; at += 2 * kUnit) {
    // Runs of three splinters, two of them new: at some point one begins in the last slot.
    const ByteRange range{at, std::min<std::uint64_t>(3 * kUnit, 64 * kUnit - at)};
    const auto view = result_of(session.view(range));
    ASSERT_TRUE(view) << view.error().message();
    ASSERT_TRUE(is_words(view->bytes(), at));
    if (view->is_copy()) {
      ++copies;
      continue;
    }
    if (lowest == nullptr || view->bytes().data() < lowest) lowest = view->bytes().data();
    if (view->bytes().data() + view->bytes().size() > lowest + kSlots * kUnit) ++wrapped;
  }
  EXPECT_GT(wrapped, 0) << "no view wrapped around the end of the window";
  EXPECT_LT(copies, 16U) << "of 32 views";
  EXPECT_EQ(session.report().private_copies, copies);
}

TEST_F(SessionTest, view_of_noncontiguous_splinters_is_a_counted_copy) {
  const Session session =
      fixture.open_words(8 * kUnit, SmallPlan{.eviction = EvictionPolicy::kLru});
  // Each in the slot beside that of its neighbor, or not.
  for (const std::uint64_t splinter : {0, 4, 1, 5}) {
    ASSERT_TRUE(reads_words(session, {splinter * kUnit, kUnit}));
  }
  const auto left = result_of(session.view({0, 2 * kUnit}));
  const auto right = result_of(session.view({4 * kUnit, 2 * kUnit}));
  ASSERT_TRUE(left && right);
  EXPECT_TRUE(is_words(left->bytes(), 0));
  EXPECT_TRUE(is_words(right->bytes(), 4 * kUnit));
  EXPECT_EQ(session.report().private_copies,
            (left->is_copy() ? 1U : 0U) + (right->is_copy() ? 1U : 0U));
}

TEST_F(SessionTest, view_larger_than_the_budget_is_refused_with_both_sizes) {
  const Session session = fixture.open_words(64 * kUnit, SmallPlan{});
  const auto view = result_of(session.view({0, 4 * kUnit + 1}));
  ASSERT_EQ(error_class(view), ErrorClass::kLimit);
  EXPECT_NE(view.error().message().find("16385"), std::string::npos) << view.error().message();
  EXPECT_NE(view.error().message().find("16384"), std::string::npos) << view.error().message();
  EXPECT_TRUE(result_of(session.view({0, 4 * kUnit})));
}

TEST_F(SessionTest, views_without_a_size_end_with_the_session) {
  const Session session = fixture.open(word_file(3 * kUnit), {100, 2 * kUnit}, SmallPlan{});
  const auto count_bytes = [&](ViewSequence views) {
    std::uint64_t bytes = 0;
    EXPECT_TRUE(views.for_each([&](const View& view) { bytes += view.bytes().size(); }));
    return bytes;
  };
  EXPECT_EQ(count_bytes(session.views()), 2 * kUnit);
  EXPECT_EQ(count_bytes(session.views({.offset = 110})), 2 * kUnit - 10);
  EXPECT_EQ(count_bytes(session.views({.offset = 110, .size = 7})), 7U);
}

TEST_F(SessionTest, views_beyond_the_session_fail_once) {
  const Session session = fixture.open(word_file(3 * kUnit), {100, 2 * kUnit}, SmallPlan{});
  for (const Extent& part : {Extent{0, kUnit}, Extent{3 * kUnit, kAll}, Extent{100, 2 * kUnit + 1},
                             Extent{UINT64_MAX, kAll}}) {
    ViewSequence views = session.views(part);
    EXPECT_EQ(error_class(result_of(views.next())), ErrorClass::kOutOfRange);
    EXPECT_TRUE(views.is_done());
  }
}

TEST_F(SessionTest, error_of_a_list_beyond_the_session_names_the_range) {
  const Session session = fixture.open_words(4 * kUnit, SmallPlan{});
  const std::array<ByteRange, 2> ranges{{{0, 50}, {4 * kUnit - 10, 50}}};
  std::vector<std::byte> into(100);
  const auto got = result_of(session.read(ranges, into));
  ASSERT_EQ(error_class(got), ErrorClass::kOutOfRange);
  EXPECT_EQ(got.error().offset_bytes(), 4 * kUnit - 10);
  EXPECT_NE(got.error().message().find("50 bytes"), std::string::npos) << got.error().message();
}

// Handles may still exist, for example in a suspended task.
TEST_F(SessionTest, close_releases_memory_when_the_last_view_is_released) {
  const std::uint64_t before = fixture.windows()->available_bytes();
  const Session session = fixture.open_words(8 * kUnit, SmallPlan{});
  auto view = result_of(session.view({kUnit, 100}));
  ASSERT_TRUE(view);
  EXPECT_LT(fixture.windows()->available_bytes(), before);
  session.close();
  EXPECT_LT(fixture.windows()->available_bytes(), before);
  EXPECT_TRUE(is_words(view->bytes(), kUnit));
  view->release();
  EXPECT_TRUE(wait_until([&] { return fixture.windows()->available_bytes() == before; }));
  EXPECT_EQ(error_class(result_of(session.view({kUnit, 100}))), ErrorClass::kClosed);
  EXPECT_EQ(session.report().window_bytes, 0U);
}

TEST_F(SessionTest, zero_bytes_are_always_ready) {
  const Session session = fixture.open(word_file(2 * kUnit), {100, kUnit}, SmallPlan{});
  EXPECT_EQ(*result_of(session.read(100, std::span<std::byte>())), 0U);
  EXPECT_EQ(*result_of(session.read(UINT64_MAX, std::span<std::byte>())), 0U);
  EXPECT_EQ(*result_of(session.read(std::span<const ByteRange>(), {})), 0U);
  EXPECT_EQ(*result_of(session.read(Subarray{.shape = {3}, .start = {3}, .count = {0}}, {})), 0U);
  EXPECT_TRUE(result_of(session.view({UINT64_MAX, 0}))->bytes().empty());
  EXPECT_TRUE(session.views({100, 0}).is_done());
  EXPECT_EQ(session.report().bytes_read, 0U);
}

TEST_F(SessionTest, invalid_block_is_refused_with_path_and_offset) {
  const Session session = fixture.open(word_file(2 * kUnit), {100, kUnit}, SmallPlan{});
  const auto got = result_of(session.read(Subarray{.shape = {3}, .start = {3}, .count = {1}}, {}));
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().path(), session.path());
  EXPECT_EQ(got.error().offset_bytes(), 100U);
}

TEST_F(SessionTest, request_beyond_the_session_is_refused_and_writes_nothing) {
  const ByteRange extent{100, kUnit};
  const Session session = fixture.open(word_file(2 * kUnit), extent, SmallPlan{});
  std::vector<std::byte> into(64, std::byte{7});
  for (const std::uint64_t offset :
       {std::uint64_t{99}, extent.end() - 63, extent.end(), UINT64_MAX - 10, UINT64_MAX}) {
    const auto got = result_of(session.read(offset, std::span(into)));
    ASSERT_EQ(error_class(got), ErrorClass::kOutOfRange) << offset;
    EXPECT_EQ(got.error().offset_bytes(), offset);
    EXPECT_EQ(error_class(result_of(session.view({offset, 64}))), ErrorClass::kOutOfRange);
  }
  const std::vector<ByteRange> ranges{{200, 32}, {50, 32}};
  EXPECT_EQ(error_class(result_of(session.read(ranges, std::span(into)))), ErrorClass::kOutOfRange);
  const Subarray block{.shape = {kUnit + 1}, .start = {kUnit - 63}, .count = {64}};
  EXPECT_EQ(error_class(result_of(session.read(block, std::span(into)))), ErrorClass::kOutOfRange);
  EXPECT_EQ(into, std::vector<std::byte>(64, std::byte{7}));
  session.prefetch({0, kAll});
  session.prefetch({UINT64_MAX, 1});
}

// In 64-bit arithmetic their sum, and the end of one of them, wrap around to small numbers.
TEST_F(SessionTest, sizes_that_overflow_are_refused) {
  const Session session = fixture.open_words(2 * kUnit, SmallPlan{});
  std::array<std::byte, 100> into{};
  const std::vector<ByteRange> ranges{{10, UINT64_MAX}, {0, 101}};
  EXPECT_FALSE(result_of(session.read(ranges, std::span(into))));
  const std::vector<ByteRange> halves{{0, 1ULL << 63U}, {1ULL << 63U, 1ULL << 63U}, {0, 100}};
  EXPECT_FALSE(result_of(session.read(halves, std::span(into))));
}

TEST_F(SessionTest, buffer_of_the_wrong_size_is_refused) {
  const Session session = fixture.open_words(2 * kUnit, SmallPlan{});
  std::array<std::byte, 100> into{};
  const std::vector<ByteRange> ranges{{0, 50}, {60, 49}};
  EXPECT_EQ(error_class(result_of(session.read(ranges, std::span(into)))),
            ErrorClass::kInvalidArgument);
  const Subarray block{.shape = {200}, .start = {0}, .count = {101}};
  EXPECT_EQ(error_class(result_of(session.read(block, std::span(into)))),
            ErrorClass::kInvalidArgument);
}

TEST_F(SessionTest, arrays_of_other_types_are_filled) {
  const Session session = fixture.open_words(4 * kUnit, SmallPlan{});
  std::vector<std::uint64_t> words(5);
  ASSERT_EQ(*result_of(session.read(kUnit - 16, std::span(words))), 40U);
  EXPECT_EQ(words[0], kUnit - 16);
  EXPECT_EQ(words[4], kUnit + 16);
  const Subarray column{.shape = {100, 10}, .start = {3, 7}, .count = {5, 1}, .element_bytes = 8};
  ASSERT_EQ(*result_of(session.read(column, std::span(words))), 40U);
  EXPECT_EQ(words[4], (7 * 10 + 7) * 8U);
}

TEST_F(SessionTest, bytes_read_once_are_rarely_loaded_again) {
  constexpr std::uint64_t kSize = 100 * kUnit;
  const Session session = fixture.open_words(kSize, SmallPlan{.readahead = 3});
  for (std::uint64_t at = 0; at < kSize; at += kUnit / 4)
    ASSERT_TRUE(reads_words(session, {at, kUnit / 4}));
  const SessionReport report = session.report();
  EXPECT_EQ(report.bytes_served, kSize);
  // Demand may evict splinters that were read ahead.
  EXPECT_LE(report.splinters_reread, 20U);
  EXPECT_EQ(report.splinters_loaded, 100U + report.splinters_reread);
  EXPECT_EQ(report.bytes_read, report.splinters_loaded * kUnit);
  EXPECT_EQ(report.private_copies, 0U);
}

TEST_F(SessionTest, cache_keeps_resident_splinters_and_counts_rereads) {
  const Session session =
      fixture.open_words(8 * kUnit, SmallPlan{.eviction = EvictionPolicy::kLru});
  for (int round = 0; round < 5; ++round)
    ASSERT_TRUE(reads_words(session, {0, 4 * kUnit}));
  EXPECT_EQ(session.report().splinters_loaded, 4U);
  EXPECT_EQ(session.report().splinters_reread, 0U);
  ASSERT_TRUE(reads_words(session, {4 * kUnit, 4 * kUnit}));
  ASSERT_TRUE(reads_words(session, {0, 4 * kUnit}));
  EXPECT_GT(session.report().splinters_reread, 0U);
}

TEST_F(SessionTest, window_grows_up_to_its_budget) {
  const Session session = fixture.open_words(64 * kUnit, SmallPlan{.slots = 1, .slots_max = 8});
  std::vector<View> held;
  for (std::uint64_t i = 0; i < 20; ++i) {
    auto view = result_of(session.view({i * kUnit, kUnit}));
    ASSERT_TRUE(view) << view.error().message();
    ASSERT_TRUE(is_words(view->bytes(), i * kUnit));
    held.push_back(std::move(*view));
  }
  EXPECT_EQ(session.report().window_bytes, 8 * kUnit);
  EXPECT_EQ(session.report().private_copies, 12U);
  // Growth moved nothing: the first views still point to their bytes.
  for (std::uint64_t i = 0; i < 20; ++i)
    EXPECT_TRUE(is_words(held[i].bytes(), i * kUnit));
}

TEST_F(SessionTest, readahead_loads_without_requests) {
  const Session session = fixture.open_words(64 * kUnit, SmallPlan{.readahead = 3});
  EXPECT_TRUE(wait_until([&] { return session.report().splinters_loaded > 0; }));
}

TEST_F(SessionTest, nothing_is_loaded_without_request_or_readahead) {
  const Session session = fixture.open_words(64 * kUnit, SmallPlan{.readahead = 0});
  ASSERT_TRUE(reads_words(session, {10 * kUnit, 10}));
  EXPECT_EQ(session.report().splinters_loaded, 1U);
}

TEST_F(SessionTest, hint_loads_its_range) {
  const Session session = fixture.open_words(64 * kUnit, SmallPlan{});
  session.prefetch({10 * kUnit + 5, kUnit});
  EXPECT_TRUE(wait_until([&] { return session.report().splinters_loaded == 2; }));
  std::array<std::byte, 100> into{};
  Future<ByteCount> there = session.read(11 * kUnit, std::span(into).first(5));
  EXPECT_TRUE(there.poll());
  EXPECT_TRUE(is_words(std::span(into).first(5), 11 * kUnit));
}

// Sizes that leave a remainder, or an empty part.
TEST_F(SessionTest, unaligned_sizes_and_offsets) {
  const std::uint64_t sizes[] = {
      1, 63, 4095, 4096, 4097, kUnit * 2 - 1, kUnit * 2, kUnit * 2 + 1, 7 * kUnit + 13};
  for (const std::uint64_t size : sizes) {
    for (const std::uint64_t offset : {std::uint64_t{0}, std::uint64_t{1}, kUnit - 1, kUnit + 9}) {
      // Once with the file ending where the session ends, once with more bytes behind it.
      for (const std::uint64_t behind : {0, 5000}) {
        const ByteRange extent{offset, size};
        const Session session =
            fixture.open(word_file(extent.end() + behind), extent, SmallPlan{.readahead = 2});
        ASSERT_TRUE(reads_words(session, extent)) << offset << " + " << size;
        ASSERT_TRUE(reads_words(session, {extent.end() - 1, 1}));
        ASSERT_TRUE(session.views(extent).for_each(
            [&](const View& view) { EXPECT_TRUE(is_words(view.bytes(), view.range().offset)); }));
      }
    }
  }
}

TEST_F(SessionTest, empty_extent_has_nothing_to_read) {
  const Session session = fixture.open(word_file(100), {100, 0}, SmallPlan{.readahead = 2});
  std::array<std::byte, 1> into{};
  EXPECT_EQ(error_class(result_of(session.read(100, std::span(into)))), ErrorClass::kOutOfRange);
  EXPECT_TRUE(session.views(session.extent()).is_done());
  session.prefetch({0, 100});
  EXPECT_EQ(session.report().bytes_read, 0U);
}

// A splinter of 64 requests or more once never found room among the agent's operations.
TEST_F(SessionTest, splinters_of_many_requests) {
  constexpr std::uint64_t kSize = 3_MiB + 17;
  for (const std::uint64_t request : {4_KiB, 64_KiB, 1_MiB}) {
    const Session session = fixture.open(
        std::make_shared<GatedFile>(kSize), {0, kSize},
        {.budget_bytes = 2_MiB, .tuning = {.splinter_bytes = 1_MiB, .request_bytes = request}});
    ASSERT_TRUE(reads_words(session, {0, kSize})) << request;
  }
}

TEST_F(SessionTest, many_sessions_on_one_file) {
  const std::shared_ptr<storage::File> file = word_file(40 * kUnit);
  std::vector<Session> sessions;
  for (std::uint64_t i = 0; i < 40; ++i)
    sessions.push_back(
        fixture.open(file, {i * 100, 40 * kUnit - i * 200}, SmallPlan{.readahead = 2}));
  Random random;
  for (int round = 0; round < 400; ++round) {
    const Session& session = sessions[random.uniform(sessions.size())];
    ASSERT_TRUE(reads_words(session, random.range(session.extent(), 3 * kUnit)));
  }
}

TEST_F(SessionTest, many_files) {
  std::vector<Session> sessions;
  for (std::uint64_t i = 0; i < 40; ++i)
    sessions.push_back(fixture.open_words(1 + i * 1000, SmallPlan{.readahead = 2}));
  for (const Session& session : sessions)
    ASSERT_TRUE(reads_words(session, session.extent()));
}

TEST_F(SessionTest, memory_returns_to_the_budget_with_the_session) {
  const std::uint64_t before = fixture.windows()->available_bytes();
  for (int round = 0; round < 3; ++round) {
    {
      const Session session = fixture.open_words(64 * kUnit, SmallPlan{.slots = 1, .slots_max = 8});
      ASSERT_TRUE(result_of(session.view({0, 8 * kUnit})));
      EXPECT_EQ(fixture.windows()->available_bytes(), before - 8 * kUnit);
    }
    // The agent may hold it for a moment.
    EXPECT_TRUE(wait_until([&] { return fixture.windows()->available_bytes() == before; }));
  }
}

// The agent once served sessions in the order of their addresses. A session that could fill all
// operations kept the others waiting as long as it had requests.
TEST_F(SessionTest, busy_session_does_not_block_others) {
  const auto file = std::make_shared<GatedFile>(64 * kUnit);
  const Session before = fixture.open(file, {0, 64 * kUnit}, SmallPlan{});
  ReadPlan greedy_plan = SmallPlan{.slots = 16, .slots_max = 16};
  greedy_plan.tuning.queue_depth = SessionFixture::kOperations;
  const Session greedy = fixture.open(file, {0, 64 * kUnit}, greedy_plan);
  const Session after = fixture.open(file, {0, 64 * kUnit}, SmallPlan{});
  std::atomic<bool> stop{false};
  std::vector<std::jthread> readers;
  for (std::uint64_t i = 0; i < 2 * SessionFixture::kOperations; ++i) {
    readers.emplace_back([&, i] {
      for (std::uint64_t k = i; !stop; k += 5)
        EXPECT_TRUE(reads_words(greedy, {k % 64 * kUnit, kUnit}));
    });
  }
  for (std::uint64_t i = 0; i < 20; ++i) {
    EXPECT_TRUE(reads_words(before, {i * kUnit, kUnit}));
    EXPECT_TRUE(reads_words(after, {i * kUnit, kUnit}));
  }
  stop = true;
}

TEST(SessionInvalidation, view_stays_unchanged_while_more_bytes_of_its_splinter_are_requested) {
  constexpr std::uint64_t kLarge = 64_KiB;
  EventLoop loop;
  const auto agent = EngineAgent::start({.choice = BackendChoice::kThreads}, nullptr).value();
  const auto file = std::make_shared<GatedFile>(4 * kLarge);
  const ReadPlan plan =
      plan_read({.extent = {0, 4 * kLarge},
                 .access = Access::kDirect,
                 .available_bytes = 64_MiB,
                 .total_bytes = 64_MiB},
                {.mode = Mode::kOnDemand,
                 .tuning = {.splinter_bytes = kLarge, .request_bytes = kLarge, .queue_depth = 1}})
          .value();
  const auto core = LocalSession::open({.file = file,
                                        .extent = {0, 4 * kLarge},
                                        .plan = plan,
                                        .windows = std::make_shared<WindowPool>(64_MiB),
                                        .agent = agent,
                                        .executor = &loop})
                        .value();
  const Session session = HandleAccess::make_session(core);
  const auto read_parts = [&](std::uint64_t offset, std::span<std::byte> into) {
    return session.read(std::array{ByteRange{offset, 8}, ByteRange{offset + 16, 8}}, into);
  };
  std::vector<std::byte> first(16);
  ASSERT_TRUE(result_of(read_parts(0, first)));
  const auto view = result_of(session.view({8, 8}));
  file->block_reads();
  std::vector<std::byte> other(16);
  auto busy = read_parts(kLarge, other);  // the one load in flight
  std::vector<std::byte> more(16);
  auto waiting = read_parts(20'000, more);
  const std::vector<std::byte> zeros(kLarge);
  ASSERT_TRUE(file->write_at(zeros, 0));
  core->invalidate({0, kLarge});
  file->unblock_reads();
  ASSERT_TRUE(result_of(busy) && result_of(waiting));
  EXPECT_EQ(more, std::vector<std::byte>(16));
  EXPECT_TRUE(is_words(view->bytes(), 8));
  ASSERT_TRUE(result_of(read_parts(0, first)));
  EXPECT_EQ(first, std::vector<std::byte>(16));
  agent->stop();
}

}  // namespace
}  // namespace forebay::read
