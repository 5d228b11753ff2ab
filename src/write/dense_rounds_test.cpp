// SPDX-License-Identifier: Apache-2.0
#include "write/dense_rounds.hpp"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace forebay::write {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint64_t kLargest = comm::CollectiveFile::kPiecesBytesMax;

TEST(DenseRounds, interleaved_ranges_without_holes_are_one_round) {
  EXPECT_THAT(dense_rounds({{4096, 10}, {4126, 10}, {4106, 10}, {4116, 10}}),
              ElementsAre(ByteRange{4096, 40}));
}

TEST(DenseRounds, a_hole_ends_a_round) {
  EXPECT_THAT(dense_rounds({{100, 50}, {0, 50}}),
              ElementsAre(ByteRange{0, 50}, ByteRange{100, 50}));
  EXPECT_THAT(dense_rounds({{100, 0}}), IsEmpty());
}

TEST(DenseRounds, a_round_has_no_more_than_one_call_moves) {
  EXPECT_THAT(dense_rounds({{0, 2 * kLargest + 1}}),
              ElementsAre(ByteRange{0, kLargest}, ByteRange{kLargest, kLargest},
                          ByteRange{2 * kLargest, 1}));
}

TEST(DenseRounds, mpi_io_writes_what_goes_through_the_page_cache) {
  const std::vector<ByteRange> large{{0, kLargePieceBytes}, {kLargePieceBytes, kLargePieceBytes}};
  const std::vector<ByteRange> small{{0, kLargePieceBytes}, {kLargePieceBytes, 4096}};
  EXPECT_EQ(means_for(Access::kDirect, small), RoundMeans::kQueues);
  EXPECT_EQ(means_for(Access::kBuffered, large), RoundMeans::kOwnPieces);
  EXPECT_EQ(means_for(Access::kBuffered, small), RoundMeans::kAggregated);
}

TEST(DenseRounds, pieces_are_cut_at_the_ends_of_a_round) {
  const std::vector<std::byte> bytes(30);
  const std::vector<comm::FilePiece> pieces{{std::span(bytes).first(10), 0},
                                            {std::span(bytes).subspan(10, 10), 10},
                                            {std::span(bytes).subspan(20), 40}};
  const auto inside = pieces_in({5, 10}, pieces);
  ASSERT_EQ(inside.size(), 2U);
  EXPECT_EQ(inside[0].bytes.data(), bytes.data() + 5);
  EXPECT_EQ(inside[0].end_bytes(), 10U);
  EXPECT_EQ(inside[1].bytes.size(), 5U);
  EXPECT_THAT(pieces_in({20, 20}, pieces), IsEmpty());
}

TEST(DenseRounds, pieces_of_all_rounds_are_all_bytes_and_fill_each_round) {
  std::mt19937_64 random(25);
  for (int turn = 0; turn < 300; ++turn) {
    const std::vector<std::byte> memory(4096);
    std::vector<comm::FilePiece> pieces;
    std::vector<ByteRange> ranges;
    std::uint64_t at = 0;
    for (std::uint64_t used = 0; used + 64 < memory.size();) {
      at += random() % 3 == 0 ? random() % 100 : 0;
      const std::uint64_t size = random() % 64;
      pieces.push_back({std::span(memory).subspan(used, size), at});
      ranges.push_back({at, size});
      used += size;
      at += size;
    }
    std::ranges::shuffle(ranges, random);
    std::uint64_t moved = 0;
    for (const ByteRange& round : dense_rounds(ranges)) {
      std::uint64_t inside = 0;
      for (const comm::FilePiece& piece : pieces_in(round, pieces))
        inside += piece.bytes.size();
      EXPECT_EQ(inside, round.size) << "turn " << turn;
      moved += inside;
    }
    std::uint64_t all = 0;
    for (const ByteRange& range : ranges)
      all += range.size;
    EXPECT_EQ(moved, all) << "turn " << turn;
  }
}

}  // namespace
}  // namespace forebay::write
