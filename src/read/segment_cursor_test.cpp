// SPDX-License-Identifier: Apache-2.0
#include "read/segment_cursor.hpp"

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace forebay::read {
namespace {

std::vector<Segment> drain(SegmentCursor cursor) {
  std::vector<Segment> segments;
  while (!cursor.is_done()) {
    segments.push_back(cursor.current());
    cursor.advance(cursor.current().size);
  }
  return segments;
}

TEST(SegmentCursor, one_range_is_one_segment) {
  const SegmentCursor cursor(ByteRange{10, 20});
  EXPECT_EQ(drain(cursor), (std::vector<Segment>{{10, 20, 0}}));
  EXPECT_EQ(cursor.total_bytes(), 20U);
  EXPECT_FALSE(cursor.is_scattered());
}

TEST(SegmentCursor, segments_can_be_consumed_in_parts) {
  SegmentCursor cursor(ByteRange{10, 20});
  cursor.advance(5);
  EXPECT_EQ(cursor.current(), (Segment{15, 15, 5}));
}

TEST(SegmentCursor, empty_requests_are_done_at_once) {
  EXPECT_TRUE(SegmentCursor(ByteRange{10, 0}).is_done());
  EXPECT_TRUE(SegmentCursor::of_ranges({}).is_done());
  const std::vector<ByteRange> empty{{4, 0}, {9, 0}};
  EXPECT_TRUE(SegmentCursor::of_ranges(empty).is_done());
}

TEST(SegmentCursor, list_is_sorted_and_adjacent_segments_are_merged) {
  const std::vector<ByteRange> ranges{{100, 10}, {110, 10}, {50, 5}, {0, 0}, {55, 5}};
  const SegmentCursor cursor = SegmentCursor::of_ranges(ranges);
  EXPECT_EQ(drain(cursor), (std::vector<Segment>{{50, 10, 20}, {100, 20, 0}}));
  EXPECT_EQ(cursor.total_bytes(), 30U);
  EXPECT_EQ(cursor.bounds(), (ByteRange{50, 70}));
}

TEST(SegmentCursor, segments_adjacent_only_in_the_file_are_not_merged) {
  const std::vector<ByteRange> ranges{{10, 10}, {0, 10}};
  EXPECT_EQ(drain(SegmentCursor::of_ranges(ranges)),
            (std::vector<Segment>{{0, 10, 10}, {10, 10, 0}}));
}

// Both sums wrapped around once and looked like a small request, which then wrote past its buffer.
TEST(SegmentCursor, sums_saturate_at_the_largest_number) {
  const std::vector<ByteRange> long_ones{{10, UINT64_MAX}, {0, 101}};
  EXPECT_EQ(SegmentCursor::of_ranges(long_ones).total_bytes(), UINT64_MAX);
  const std::vector<ByteRange> far_one{{0, 10}, {UINT64_MAX - 5, 50}};
  EXPECT_EQ(SegmentCursor::of_ranges(far_one).bounds().end(), UINT64_MAX);
}

TEST(SegmentCursor, whole_faster_dimensions_are_merged_into_long_rows) {
  const Subarray block{
      .shape = {4, 5, 6}, .start = {1, 2, 0}, .count = {2, 3, 6}, .element_bytes = 8};
  const auto cursor = SegmentCursor::of_block(block, 1000);
  ASSERT_TRUE(cursor);
  EXPECT_EQ(drain(*cursor), (std::vector<Segment>{{1000 + (1 * 30 + 12) * 8, 18 * 8, 0},
                                                  {1000 + (2 * 30 + 12) * 8, 18 * 8, 144}}));
}

TEST(SegmentCursor, whole_array_is_one_segment_and_a_scalar_too) {
  const Subarray whole{.shape = {4, 5}, .start = {0, 0}, .count = {4, 5}, .element_bytes = 4};
  EXPECT_EQ(drain(*SegmentCursor::of_block(whole, 8)), (std::vector<Segment>{{8, 80, 0}}));
  EXPECT_EQ(drain(*SegmentCursor::of_block(Subarray{.element_bytes = 4}, 8)),
            (std::vector<Segment>{{8, 4, 0}}));
}

TEST(SegmentCursor, invalid_blocks_are_refused_with_reason) {
  const auto message = [](const Subarray& block) {
    const auto cursor = SegmentCursor::of_block(block, 0);
    return cursor ? std::string() : cursor.error().message();
  };
  EXPECT_NE(message({.shape = {4}, .start = {0, 0}, .count = {4}}).find("dimensions"),
            std::string::npos);
  EXPECT_NE(message({.shape = {4}, .start = {2}, .count = {3}}).find("dimension 0"),
            std::string::npos);
  EXPECT_NE(message({.shape = {4}, .start = {5}, .count = {0}}).find("dimension 0"),
            std::string::npos);
  EXPECT_NE(message({.shape = {4}, .start = {0}, .count = {4}, .element_bytes = 0}).find("0 bytes"),
            std::string::npos);
  EXPECT_NE(
      message({.shape = {1ULL << 40U, 1ULL << 40U}, .start = {0, 0}, .count = {1, 1}}).find("2^64"),
      std::string::npos);
  const std::vector<std::uint64_t> ones(SegmentCursor::kDimensionsMax + 1, 1);
  const std::vector<std::uint64_t> zeros(ones.size(), 0);
  EXPECT_NE(message({.shape = ones, .start = zeros, .count = ones}).find("16"), std::string::npos);
}

/// The definition: every element of the block, in file order.
std::vector<std::uint64_t> expected_offsets(const Subarray& block) {
  const std::size_t rank = block.shape.size();
  std::vector<std::uint64_t> offsets;
  const std::uint64_t elements = std::accumulate(block.count.begin(), block.count.end(),
                                                 std::uint64_t{1}, std::multiplies<>());
  for (std::uint64_t i = 0; i < elements; ++i) {
    std::uint64_t rest = i;
    std::uint64_t linear = 0;
    std::uint64_t stride = 1;
    for (std::size_t step = 0; step < rank; ++step) {
      const std::size_t d = block.order == ArrayOrder::kC ? rank - 1 - step : step;
      linear += (block.start[d] + rest % block.count[d]) * stride;
      rest /= block.count[d];
      stride *= block.shape[d];
    }
    offsets.push_back(linear * block.element_bytes);
  }
  return offsets;
}

TEST(SegmentCursor, random_blocks_visit_every_element_in_file_order) {
  std::mt19937_64 random(20261121);
  const auto upto = [&](std::uint64_t limit) { return random() % (limit + 1); };
  for (int round = 0; round < 3000; ++round) {
    Subarray block;
    block.order = upto(1) == 0 ? ArrayOrder::kC : ArrayOrder::kFortran;
    block.element_bytes = 1 + upto(8);
    const std::size_t rank = 1 + upto(4);
    for (std::size_t d = 0; d < rank; ++d) {
      block.shape.push_back(1 + upto(5));
      block.start.push_back(upto(block.shape[d]));
      block.count.push_back(upto(block.shape[d] - block.start[d]));
      if (upto(2) == 0) {  // whole dimensions are merged
        block.start[d] = 0;
        block.count[d] = block.shape[d];
      }
    }
    std::vector<std::uint64_t> visited;
    std::uint64_t buffer_offset = 0;
    const auto cursor = SegmentCursor::of_block(block, 64);
    ASSERT_TRUE(cursor) << cursor.error().message();
    for (const Segment& segment : drain(*cursor)) {
      EXPECT_EQ(segment.buffer_offset, buffer_offset);
      buffer_offset += segment.size;
      for (std::uint64_t at = 0; at < segment.size; at += block.element_bytes) {
        visited.push_back(segment.file_offset + at - 64);
      }
    }
    ASSERT_EQ(visited, expected_offsets(block)) << "round " << round;
    EXPECT_EQ(cursor->total_bytes(), visited.size() * block.element_bytes);
    if (!visited.empty()) {
      EXPECT_EQ(cursor->bounds().offset, 64 + visited.front());
      EXPECT_EQ(cursor->bounds().end(), 64 + visited.back() + block.element_bytes);
    }
  }
}

}  // namespace
}  // namespace forebay::read
