// SPDX-License-Identifier: Apache-2.0
#include "write/dense_rounds.hpp"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace forebay::write {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint64_t kLargest = comm::CollectiveFile::kSegmentsBytesMax;

TEST(DenseRounds, interleaved_ranges_form_one_round) {
  EXPECT_THAT(dense_rounds({{4096, 10}, {4126, 10}, {4106, 10}, {4116, 10}}),
              ElementsAre(ByteRange{4096, 40}));
}

TEST(DenseRounds, hole_ends_round) {
  EXPECT_THAT(dense_rounds({{100, 50}, {0, 50}}),
              ElementsAre(ByteRange{0, 50}, ByteRange{100, 50}));
  EXPECT_THAT(dense_rounds({{100, 0}}), IsEmpty());
}

TEST(DenseRounds, round_is_limited_to_one_call) {
  EXPECT_THAT(dense_rounds({{0, 2 * kLargest + 1}}),
              ElementsAre(ByteRange{0, kLargest}, ByteRange{kLargest, kLargest},
                          ByteRange{2 * kLargest, 1}));
}

TEST(DenseRounds, buffered_files_use_mpi_io) {
  const std::vector<ByteRange> large{{0, kLargeRangeBytes}, {kLargeRangeBytes, kLargeRangeBytes}};
  const std::vector<ByteRange> small{{0, kLargeRangeBytes}, {kLargeRangeBytes, 4096}};
  EXPECT_EQ(choose_collective_method(Access::kDirect, small), CollectiveMethod::kIndependent);
  EXPECT_EQ(choose_collective_method(Access::kBuffered, large), CollectiveMethod::kUnaggregated);
  EXPECT_EQ(choose_collective_method(Access::kBuffered, small), CollectiveMethod::kAggregated);
}

TEST(DenseRounds, segments_are_clipped_to_round) {
  const std::vector<std::byte> bytes(30);
  const std::vector<comm::FileSegment> segments{{std::span(bytes).first(10), 0},
                                                {std::span(bytes).subspan(10, 10), 10},
                                                {std::span(bytes).subspan(20), 40}};
  const auto inside = clip_to_round({5, 10}, segments);
  ASSERT_EQ(inside.size(), 2U);
  EXPECT_EQ(inside[0].bytes.data(), bytes.data() + 5);
  EXPECT_EQ(inside[0].end_bytes(), 10U);
  EXPECT_EQ(inside[1].bytes.size(), 5U);
  EXPECT_THAT(clip_to_round({20, 20}, segments), IsEmpty());
}

TEST(DenseRounds, random_segments_fill_all_rounds_exactly) {
  std::mt19937_64 random(25);
  for (int iteration = 0; iteration < 300; ++iteration) {
    const std::vector<std::byte> memory(4096);
    std::vector<comm::FileSegment> segments;
    std::vector<ByteRange> ranges;
    std::uint64_t at = 0;
    for (std::uint64_t used = 0; used + 64 < memory.size();) {
      at += random() % 3 == 0 ? random() % 100 : 0;
      const std::uint64_t size = random() % 64;
      segments.push_back({std::span(memory).subspan(used, size), at});
      ranges.push_back({at, size});
      used += size;
      at += size;
    }
    std::ranges::shuffle(ranges, random);
    std::uint64_t moved = 0;
    for (const ByteRange& round : dense_rounds(ranges)) {
      std::uint64_t inside = 0;
      for (const comm::FileSegment& segment : clip_to_round(round, segments))
        inside += segment.bytes.size();
      EXPECT_EQ(inside, round.size) << "iteration " << iteration;
      moved += inside;
    }
    std::uint64_t all = 0;
    for (const ByteRange& range : ranges)
      all += range.size;
    EXPECT_EQ(moved, all) << "iteration " << iteration;
  }
}

}  // namespace
}  // namespace forebay::write
