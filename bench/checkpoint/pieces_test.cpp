// SPDX-License-Identifier: Apache-2.0
// Calls that are timed by themselves do what they say: their steps are there afterwards.
#include "bench/checkpoint/pieces.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/checkpoint/content.hpp"
#include "bench/checkpoint/runtimes.hpp"
#include "bench/checkpoint/sizes.hpp"
#include "bench/checkpoint/stored.hpp"
#include "bench/checkpoint/team_testing.hpp"
#include "bench/frame/slices.hpp"

namespace forebay::bench::checkpoint {
namespace {

constexpr std::uint32_t kPieceSteps = 3;
constexpr std::uint64_t kPieceBlockBytes = 5ULL << 18U;

class Pieces : public testing::Test {
 protected:
  Pieces() {
    checkpoint_.folder = folder_.path();
    checkpoint_.block_bytes = block_sizes(Sizes::kEqual, team_.size, kPieceBlockBytes * team_.size);
    checkpoint_.steps = kPieceSteps;
  }
  ~Pieces() override { end_runtimes(); }

  Result<Measured> measure(const PieceSettings& settings) {
    folder_.empty();
    const TouchedMemory block = TouchedMemory::make(kPieceBlockBytes).value();
    fill(block.bytes(), {0, checkpoint_.offset_of(team_.rank)});
    return measure_piece(team_, checkpoint_, settings, block.bytes());
  }

  /// What this rank's part of the newest step holds.
  void expect_steps(std::uint64_t newest) {
    auto dataset = runtime_of(team_).open_dataset(checkpoint_.folder / "pieces.fb");
    ASSERT_TRUE(dataset) << dataset.error().message();
    ASSERT_EQ(dataset->newest_step(), newest);
    const TouchedMemory room = TouchedMemory::make(kPieceBlockBytes).value();
    const auto step = dataset->step(newest);
    ASSERT_TRUE(step) << step.error().message();
    const auto read = step->read("block", Part{team_.rank}, room.bytes()).wait();
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(first_wrong(room.bytes(), {0, checkpoint_.offset_of(team_.rank)}), std::nullopt);
  }

  const Team team_ = whole_team();
  const TeamFolder folder_{team_, "pieces"};
  Checkpoint checkpoint_;
};

TEST_F(Pieces, write_steps_that_are_there_after_one_to_warm_up) {
  for (const Piece piece : {Piece::kAdopt, Piece::kPut, Piece::kHashingPut}) {
    SCOPED_TRACE(static_cast<int>(piece));
    const auto measured = measure({.piece = piece, .steps = kPieceSteps});
    ASSERT_TRUE(measured) << measured.error().message();
    EXPECT_GT(measured->blocked_s, 0);
    EXPECT_GE(measured->total_s, measured->blocked_s);
    expect_steps(kPieceSteps);
  }
}

TEST_F(Pieces, a_pause_is_no_part_of_beginning_a_step) {
  const auto measured =
      measure({.piece = Piece::kBeginStep, .steps = kPieceSteps, .pause_s = 0.01});
  ASSERT_TRUE(measured) << measured.error().message();
  EXPECT_GT(measured->blocked_s, 0);
  expect_steps(kPieceSteps);
}

TEST_F(Pieces, a_step_right_after_opening_has_none_before_it) {
  ASSERT_TRUE(measure({.piece = Piece::kBeginStep, .steps = 1}));
  expect_steps(0);
}

TEST_F(Pieces, a_plain_copy_writes_no_file) {
  const auto measured = measure({.piece = Piece::kMemoryCopy, .steps = kPieceSteps});
  ASSERT_TRUE(measured) << measured.error().message();
  EXPECT_GT(measured->blocked_s, 0);
  EXPECT_EQ(count_files(checkpoint_.folder), 0U);
}

}  // namespace
}  // namespace forebay::bench::checkpoint
