// SPDX-License-Identifier: Apache-2.0
// Arithmetic of byte ranges, including the ends of 64-bit numbers.
#include <forebay/range.hpp>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace forebay {
namespace {

TEST(ByteRange, end_is_the_first_byte_after_it) {
  EXPECT_EQ((ByteRange{4, 6}.end()), 10U);
  EXPECT_TRUE((ByteRange{4, 0}.empty()));
  EXPECT_FALSE((ByteRange{4, 1}.empty()));
}

TEST(ByteRange, contains_inner_ranges) {
  const ByteRange range{10, 10};
  EXPECT_TRUE(range.contains({10, 10}));
  EXPECT_TRUE(range.contains({12, 3}));
  EXPECT_TRUE(range.contains({19, 1}));
  EXPECT_FALSE(range.contains({9, 2}));
  EXPECT_FALSE(range.contains({19, 2}));
  EXPECT_FALSE(range.contains({0, 100}));
}

TEST(ByteRange, empty_ranges_lie_in_ranges_that_touch_them) {
  const ByteRange range{10, 10};
  EXPECT_TRUE(range.contains({10, 0}));
  EXPECT_TRUE(range.contains({20, 0}));
  EXPECT_FALSE(range.contains({21, 0}));
  EXPECT_FALSE(range.contains({9, 0}));
}

TEST(ByteRange, contains_does_not_overflow) {
  const ByteRange range{10, 10};
  EXPECT_FALSE(range.contains({UINT64_MAX - 1, 10}));
  EXPECT_FALSE(range.contains({12, UINT64_MAX}));
}

TEST(ByteRange, intersection_is_what_both_share) {
  EXPECT_EQ(intersect({0, 10}, {5, 10}), (ByteRange{5, 5}));
  EXPECT_EQ(intersect({5, 10}, {0, 10}), (ByteRange{5, 5}));
  EXPECT_EQ(intersect({0, 10}, {2, 3}), (ByteRange{2, 3}));
  EXPECT_TRUE(intersect({0, 10}, {10, 5}).empty());
  EXPECT_TRUE(intersect({0, 10}, {20, 5}).empty());
}

TEST(ByteRange, intersection_with_all_is_the_range) {
  EXPECT_EQ(intersect({0, kAll}, {7, 9}), (ByteRange{7, 9}));
  EXPECT_EQ(intersect({8, kAll}, {7, 9}), (ByteRange{8, 8}));
  EXPECT_EQ((ByteRange{32, kAll}.end()), UINT64_MAX);
}

TEST(Units, literals_are_powers_of_1024) {
  EXPECT_EQ(1_KiB, 1024U);
  EXPECT_EQ(3_MiB, 3U * 1024 * 1024);
  EXPECT_EQ(5_GiB, 5ULL * 1024 * 1024 * 1024);
}

TEST(Subarray, equal_blocks_compare_equal) {
  const Subarray block{.shape = {4, 4}, .start = {1, 1}, .count = {2, 2}, .element_bytes = 8};
  Subarray other = block;
  EXPECT_EQ(block, other);
  other.order = ArrayOrder::kFortran;
  EXPECT_NE(block, other);
}

static_assert(ReadableRange<const std::vector<double>&>);
static_assert(ReadableRange<std::vector<double>>, "its bytes are copied before the call returns");
static_assert(ReadableRange<std::array<double, 3>&>);
static_assert(ReadableRange<std::span<const int>>);
static_assert(ReadableRange<char (&)[64]>);
static_assert(ReadableRange<const int (&)[4]>);
static_assert(ReadableRange<std::vector<std::array<float, 3>>&>);
static_assert(!ReadableRange<const char (&)[7]>, "a literal has a terminating zero");
static_assert(!ReadableRange<const char8_t (&)[7]> && !ReadableRange<const wchar_t (&)[7]>);
static_assert(!ReadableRange<std::vector<bool>&>);
static_assert(!ReadableRange<std::vector<std::string>&>);
static_assert(!ReadableRange<std::vector<std::string_view>&>, "its bytes are addresses");
static_assert(!ReadableRange<std::vector<const char*>&>);
static_assert(!ReadableRange<std::vector<std::span<int>>&>);
static_assert(WritableRange<std::vector<double>&>);
static_assert(WritableRange<std::span<double>>);
static_assert(WritableRange<int (&)[4]>);
static_assert(!WritableRange<std::vector<double>>, "the request outlives a temporary");
static_assert(!WritableRange<const std::vector<double>&>);
static_assert(!WritableRange<std::span<const double>>);

}  // namespace
}  // namespace forebay
