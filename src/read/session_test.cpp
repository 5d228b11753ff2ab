// SPDX-License-Identifier: Apache-2.0
// What a session refuses, counts, keeps and gives back.
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
  Rig rig;
};

TEST_F(SessionTest, views_across_splinters_are_contiguous_and_seldom_copies_around_the_end) {
  constexpr std::uint64_t kSlots = 8;
  const Session session =
      rig.open_words(64 * kUnit, SmallPlan{.slots = kSlots, .slots_max = kSlots, .eager = 1});
  const std::byte* lowest = nullptr;
  int wrapped = 0;
  std::uint64_t copies = 0;  // of splinters that lie apart: how many depends on who loads what when
  for (std::uint64_t at = 0; at < 64 * kUnit; at += 2 * kUnit) {
    // Runs of three splinters, two of them new: sooner or later one begins in the last slot.
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
  EXPECT_GT(wrapped, 0) << "no view reached around the window's end";
  EXPECT_LT(copies, 16U) << "of 32 views";
  EXPECT_EQ(session.report().private_copies, copies);
}

TEST_F(SessionTest, a_view_of_splinters_that_lie_apart_is_a_counted_copy) {
  const Session session = rig.open_words(8 * kUnit, SmallPlan{.retirement = Retirement::kCache});
  for (const std::uint64_t splinter : {0, 4, 1, 5}) {  // each beside its neighbour's place, or not
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

TEST_F(SessionTest, a_view_larger_than_the_budget_is_refused_with_both_sizes) {
  const Session session = rig.open_words(64 * kUnit, SmallPlan{});
  const auto view = result_of(session.view({0, 4 * kUnit + 1}));
  ASSERT_EQ(error_class(view), ErrorClass::kLimit);
  EXPECT_NE(view.error().message().find("16385"), std::string::npos) << view.error().message();
  EXPECT_NE(view.error().message().find("16384"), std::string::npos) << view.error().message();
  EXPECT_TRUE(result_of(session.view({0, 4 * kUnit})));
}

TEST_F(SessionTest, views_of_what_is_left_out_end_with_the_session) {
  const Session session = rig.open(word_file(3 * kUnit), {100, 2 * kUnit}, SmallPlan{});
  const auto count_bytes = [&](Views pieces) {
    std::uint64_t bytes = 0;
    EXPECT_TRUE(pieces.for_each([&](const View& piece) { bytes += piece.bytes().size(); }));
    return bytes;
  };
  EXPECT_EQ(count_bytes(session.views()), 2 * kUnit);
  EXPECT_EQ(count_bytes(session.views({.offset = 110})), 2 * kUnit - 10);
  EXPECT_EQ(count_bytes(session.views({.offset = 110, .size = 7})), 7U);
}

TEST_F(SessionTest, views_that_leave_the_session_fail_once) {
  const Session session = rig.open(word_file(3 * kUnit), {100, 2 * kUnit}, SmallPlan{});
  for (const Extent& part : {Extent{0, kUnit}, Extent{3 * kUnit, all}, Extent{100, 2 * kUnit + 1},
                             Extent{UINT64_MAX, all}}) {
    Views pieces = session.views(part);
    EXPECT_EQ(error_class(result_of(pieces.next())), ErrorClass::kOutOfRange);
    EXPECT_TRUE(pieces.done());
  }
}

TEST_F(SessionTest, a_list_that_leaves_the_session_names_the_piece) {
  const Session session = rig.open_words(4 * kUnit, SmallPlan{});
  const std::array<ByteRange, 2> ranges{{{0, 50}, {4 * kUnit - 10, 50}}};
  std::vector<std::byte> into(100);
  const auto got = result_of(session.read(ranges, into));
  ASSERT_EQ(error_class(got), ErrorClass::kOutOfRange);
  EXPECT_EQ(got.error().offset_bytes(), 4 * kUnit - 10);
  EXPECT_NE(got.error().message().find("50 bytes"), std::string::npos) << got.error().message();
}

// Handles may live on, in a task that nobody looks at any more.
TEST_F(SessionTest, closing_gives_memory_back_as_soon_as_no_view_holds_it) {
  const std::uint64_t before = rig.windows()->available_bytes();
  const Session session = rig.open_words(8 * kUnit, SmallPlan{});
  auto view = result_of(session.view({kUnit, 100}));
  ASSERT_TRUE(view);
  EXPECT_LT(rig.windows()->available_bytes(), before);
  session.close();
  EXPECT_LT(rig.windows()->available_bytes(), before);
  EXPECT_TRUE(is_words(view->bytes(), kUnit));
  view->release();
  EXPECT_TRUE(eventually([&] { return rig.windows()->available_bytes() == before; }));
  EXPECT_EQ(error_class(result_of(session.view({kUnit, 100}))), ErrorClass::kClosed);
  EXPECT_EQ(session.report().window_bytes, 0U);
}

TEST_F(SessionTest, zero_bytes_are_always_there) {
  const Session session = rig.open(word_file(2 * kUnit), {100, kUnit}, SmallPlan{});
  EXPECT_EQ(*result_of(session.read(100, std::span<std::byte>())), 0U);
  EXPECT_EQ(*result_of(session.read(UINT64_MAX, std::span<std::byte>())), 0U);
  EXPECT_EQ(*result_of(session.read(std::span<const ByteRange>(), {})), 0U);
  EXPECT_EQ(*result_of(session.read(Subarray{.shape = {3}, .start = {3}, .count = {0}}, {})), 0U);
  EXPECT_TRUE(result_of(session.view({UINT64_MAX, 0}))->bytes().empty());
  EXPECT_TRUE(session.views({100, 0}).done());
  EXPECT_EQ(session.report().bytes_read, 0U);
}

TEST_F(SessionTest, a_block_that_means_nothing_is_refused_with_file_and_place) {
  const Session session = rig.open(word_file(2 * kUnit), {100, kUnit}, SmallPlan{});
  const auto got = result_of(session.read(Subarray{.shape = {3}, .start = {3}, .count = {1}}, {}));
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().path(), session.path());
  EXPECT_EQ(got.error().offset_bytes(), 100U);
}

TEST_F(SessionTest, a_request_that_leaves_the_session_is_refused_and_touches_nothing) {
  const ByteRange extent{100, kUnit};
  const Session session = rig.open(word_file(2 * kUnit), extent, SmallPlan{});
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
  session.prefetch({0, all});
  session.prefetch({UINT64_MAX, 1});
}

// Their sum, and the end of one of them, are small numbers again when they are counted in 64 bits.
TEST_F(SessionTest, sizes_that_overflow_are_refused) {
  const Session session = rig.open_words(2 * kUnit, SmallPlan{});
  std::array<std::byte, 100> into{};
  const std::vector<ByteRange> ranges{{10, UINT64_MAX}, {0, 101}};
  EXPECT_FALSE(result_of(session.read(ranges, std::span(into))));
  const std::vector<ByteRange> halves{{0, 1ULL << 63U}, {1ULL << 63U, 1ULL << 63U}, {0, 100}};
  EXPECT_FALSE(result_of(session.read(halves, std::span(into))));
}

TEST_F(SessionTest, a_buffer_of_the_wrong_size_is_refused) {
  const Session session = rig.open_words(2 * kUnit, SmallPlan{});
  std::array<std::byte, 100> into{};
  const std::vector<ByteRange> ranges{{0, 50}, {60, 49}};
  EXPECT_EQ(error_class(result_of(session.read(ranges, std::span(into)))),
            ErrorClass::kInvalidArgument);
  const Subarray block{.shape = {200}, .start = {0}, .count = {101}};
  EXPECT_EQ(error_class(result_of(session.read(block, std::span(into)))),
            ErrorClass::kInvalidArgument);
}

TEST_F(SessionTest, arrays_of_other_types_are_filled) {
  const Session session = rig.open_words(4 * kUnit, SmallPlan{});
  std::vector<std::uint64_t> words(5);
  ASSERT_EQ(*result_of(session.read(kUnit - 16, std::span(words))), 40U);
  EXPECT_EQ(words[0], kUnit - 16);
  EXPECT_EQ(words[4], kUnit + 16);
  const Subarray column{.shape = {100, 10}, .start = {3, 7}, .count = {5, 1}, .element_bytes = 8};
  ASSERT_EQ(*result_of(session.read(column, std::span(words))), 40U);
  EXPECT_EQ(words[4], (7 * 10 + 7) * 8U);
}

TEST_F(SessionTest, what_is_wanted_once_is_hardly_ever_read_again) {
  constexpr std::uint64_t kSize = 100 * kUnit;
  const Session session = rig.open_words(kSize, SmallPlan{.eager = 3});
  for (std::uint64_t at = 0; at < kSize; at += kUnit / 4)
    ASSERT_TRUE(reads_words(session, {at, kUnit / 4}));
  const SessionReport report = session.report();
  EXPECT_EQ(report.bytes_served, kSize);
  // Demand may push out what was read ahead.
  EXPECT_LE(report.splinters_reread, 20U);
  EXPECT_EQ(report.splinters_loaded, 100U + report.splinters_reread);
  EXPECT_EQ(report.bytes_read, report.splinters_loaded * kUnit);
  EXPECT_EQ(report.private_copies, 0U);
}

TEST_F(SessionTest, a_cache_keeps_what_fits_and_counts_what_it_reads_again) {
  const Session session = rig.open_words(8 * kUnit, SmallPlan{.retirement = Retirement::kCache});
  for (int round = 0; round < 5; ++round)
    ASSERT_TRUE(reads_words(session, {0, 4 * kUnit}));
  EXPECT_EQ(session.report().splinters_loaded, 4U);
  EXPECT_EQ(session.report().splinters_reread, 0U);
  ASSERT_TRUE(reads_words(session, {4 * kUnit, 4 * kUnit}));
  ASSERT_TRUE(reads_words(session, {0, 4 * kUnit}));
  EXPECT_GT(session.report().splinters_reread, 0U);
}

TEST_F(SessionTest, a_window_grows_no_further_than_its_budget) {
  const Session session = rig.open_words(64 * kUnit, SmallPlan{.slots = 1, .slots_max = 8});
  std::vector<View> held;
  for (std::uint64_t i = 0; i < 20; ++i) {
    auto view = result_of(session.view({i * kUnit, kUnit}));
    ASSERT_TRUE(view) << view.error().message();
    ASSERT_TRUE(is_words(view->bytes(), i * kUnit));
    held.push_back(std::move(*view));
  }
  EXPECT_EQ(session.report().window_bytes, 8 * kUnit);
  EXPECT_EQ(session.report().private_copies, 12U);
  // Growing moved nothing: the first ones still point to their bytes.
  for (std::uint64_t i = 0; i < 20; ++i)
    EXPECT_TRUE(is_words(held[i].bytes(), i * kUnit));
}

TEST_F(SessionTest, eager_reading_brings_what_nobody_has_asked_for) {
  const Session session = rig.open_words(64 * kUnit, SmallPlan{.eager = 3});
  EXPECT_TRUE(eventually([&] { return session.report().splinters_loaded > 0; }));
}

TEST_F(SessionTest, without_eager_reading_nothing_is_read_unasked) {
  const Session session = rig.open_words(64 * kUnit, SmallPlan{.eager = 0});
  ASSERT_TRUE(reads_words(session, {10 * kUnit, 10}));
  EXPECT_EQ(session.report().splinters_loaded, 1U);
}

TEST_F(SessionTest, a_hint_brings_what_it_names) {
  const Session session = rig.open_words(64 * kUnit, SmallPlan{});
  session.prefetch({10 * kUnit + 5, kUnit});
  EXPECT_TRUE(eventually([&] { return session.report().splinters_loaded == 2; }));
  std::array<std::byte, 100> into{};
  Future<ByteCount> there = session.read(11 * kUnit, std::span(into).first(5));
  EXPECT_TRUE(there.poll());
  EXPECT_TRUE(is_words(std::span(into).first(5), 11 * kUnit));
}

// Sizes at which something is left over, or nothing is there.
TEST_F(SessionTest, odd_sizes_at_odd_places) {
  const std::uint64_t sizes[] = {
      1, 63, 4095, 4096, 4097, kUnit * 2 - 1, kUnit * 2, kUnit * 2 + 1, 7 * kUnit + 13};
  for (const std::uint64_t size : sizes) {
    for (const std::uint64_t offset : {std::uint64_t{0}, std::uint64_t{1}, kUnit - 1, kUnit + 9}) {
      // Once with the file ending where the session does, once with more behind it.
      for (const std::uint64_t behind : {0, 5000}) {
        const ByteRange extent{offset, size};
        const Session session =
            rig.open(word_file(extent.end() + behind), extent, SmallPlan{.eager = 2});
        ASSERT_TRUE(reads_words(session, extent)) << offset << " + " << size;
        ASSERT_TRUE(reads_words(session, {extent.end() - 1, 1}));
        ASSERT_TRUE(session.views(extent).for_each([&](const View& piece) {
          EXPECT_TRUE(is_words(piece.bytes(), piece.range().offset));
        }));
      }
    }
  }
}

TEST_F(SessionTest, an_empty_extent_has_nothing_to_read) {
  const Session session = rig.open(word_file(100), {100, 0}, SmallPlan{.eager = 2});
  std::array<std::byte, 1> into{};
  EXPECT_EQ(error_class(result_of(session.read(100, std::span(into)))), ErrorClass::kOutOfRange);
  EXPECT_TRUE(session.views(session.extent()).done());
  session.prefetch({0, 100});
  EXPECT_EQ(session.report().bytes_read, 0U);
}

// A splinter of 64 requests and more once found no room among the agent's operations, ever.
TEST_F(SessionTest, splinters_of_many_requests) {
  constexpr std::uint64_t kSize = 3_MiB + 17;
  for (const std::uint64_t request : {4_KiB, 64_KiB, 1_MiB}) {
    const Session session = rig.open(
        std::make_shared<GatedFile>(kSize), {0, kSize},
        {.splinter_bytes = 1_MiB, .budget_bytes = 2_MiB, .request_bytes = request, .reason = {}});
    ASSERT_TRUE(reads_words(session, {0, kSize})) << request;
  }
}

TEST_F(SessionTest, many_sessions_on_one_file) {
  const std::shared_ptr<storage::File> file = word_file(40 * kUnit);
  std::vector<Session> sessions;
  for (std::uint64_t i = 0; i < 40; ++i)
    sessions.push_back(rig.open(file, {i * 100, 40 * kUnit - i * 200}, SmallPlan{.eager = 2}));
  Random random;
  for (int round = 0; round < 400; ++round) {
    const Session& session = sessions[random.below(sessions.size())];
    ASSERT_TRUE(reads_words(session, random.range(session.extent(), 3 * kUnit)));
  }
}

TEST_F(SessionTest, many_files) {
  std::vector<Session> sessions;
  for (std::uint64_t i = 0; i < 40; ++i)
    sessions.push_back(rig.open_words(1 + i * 1000, SmallPlan{.eager = 2}));
  for (const Session& session : sessions)
    ASSERT_TRUE(reads_words(session, session.extent()));
}

TEST_F(SessionTest, memory_goes_back_to_the_budget_with_the_session) {
  const std::uint64_t before = rig.windows()->available_bytes();
  for (int round = 0; round < 3; ++round) {
    {
      const Session session = rig.open_words(64 * kUnit, SmallPlan{.slots = 1, .slots_max = 8});
      ASSERT_TRUE(result_of(session.view({0, 8 * kUnit})));
      EXPECT_EQ(rig.windows()->available_bytes(), before - 8 * kUnit);
    }
    // The agent may hold on to it for a moment.
    EXPECT_TRUE(eventually([&] { return rig.windows()->available_bytes() == before; }));
  }
}

// The agent served sessions in the order of their addresses: one that could fill all operations by
// itself kept the others out for as long as it went on.
TEST_F(SessionTest, a_busy_session_does_not_keep_others_out) {
  const auto file = std::make_shared<GatedFile>(64 * kUnit);
  const Session before = rig.open(file, {0, 64 * kUnit}, SmallPlan{});
  ReadPlan greedy_plan = SmallPlan{.slots = 16, .slots_max = 16};
  greedy_plan.queue_depth = Rig::kOperations;
  const Session greedy = rig.open(file, {0, 64 * kUnit}, greedy_plan);
  const Session after = rig.open(file, {0, 64 * kUnit}, SmallPlan{});
  std::atomic<bool> stop{false};
  std::vector<std::jthread> readers;
  for (std::uint64_t i = 0; i < 2 * Rig::kOperations; ++i) {
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

}  // namespace
}  // namespace forebay::read
