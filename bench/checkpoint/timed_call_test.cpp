// SPDX-License-Identifier: Apache-2.0
// Separately timed calls have their effect: their steps exist afterwards.
#include "bench/checkpoint/timed_call.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/checkpoint/content.hpp"
#include "bench/checkpoint/run_files.hpp"
#include "bench/checkpoint/runtimes.hpp"
#include "bench/checkpoint/size_distribution.hpp"
#include "bench/checkpoint/team_testing.hpp"
#include "bench/frame/file_partition.hpp"

namespace forebay::bench::checkpoint {
namespace {

constexpr std::uint32_t kPieceSteps = 3;
constexpr std::uint64_t kPieceBlockBytes = 5ULL << 18U;

class TimedCalls : public testing::Test {
 protected:
  TimedCalls() {
    checkpoint_.directory = directory_.path();
    checkpoint_.block_bytes =
        block_sizes(SizeDistribution::kEqual, team_.size, kPieceBlockBytes * team_.size);
    checkpoint_.steps = kPieceSteps;
  }
  ~TimedCalls() override { end_runtimes(); }

  Result<TrialResult> measure(const CallSettings& settings) {
    directory_.clear();
    const PrefaultedMemory block = PrefaultedMemory::make(kPieceBlockBytes).value();
    fill_content(block.bytes(), {0, checkpoint_.offset_of(team_.rank)});
    return measure_call(team_, checkpoint_, settings, block.bytes());
  }

  /// Checks this rank's part of the newest step.
  void expect_steps(std::uint64_t newest) {
    auto dataset = runtime_of(team_).open_dataset(checkpoint_.directory / "pieces.fb");
    ASSERT_TRUE(dataset) << dataset.error().message();
    ASSERT_EQ(dataset->newest_step(), newest);
    const PrefaultedMemory buffer = PrefaultedMemory::make(kPieceBlockBytes).value();
    const auto step = dataset->open_step(newest);
    ASSERT_TRUE(step) << step.error().message();
    const auto read = step->read("block", Part{team_.rank}, buffer.bytes()).wait();
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(first_mismatch(buffer.bytes(), {0, checkpoint_.offset_of(team_.rank)}), std::nullopt);
  }

  const RankTeam team_ = world_team();
  const TeamDirectory directory_{team_, "pieces"};
  Checkpoint checkpoint_;
};

TEST_F(TimedCalls, write_steps_after_a_warm_up) {
  for (const TimedCall call : {TimedCall::kAdopt, TimedCall::kPut, TimedCall::kHashingPut}) {
    SCOPED_TRACE(static_cast<int>(call));
    const auto measured = measure({.call = call, .steps = kPieceSteps});
    ASSERT_TRUE(measured) << measured.error().message();
    EXPECT_GT(measured->blocked_s, 0);
    EXPECT_GE(measured->total_s, measured->blocked_s);
    expect_steps(kPieceSteps);
  }
}

TEST_F(TimedCalls, pause_is_not_part_of_begin_step) {
  const auto measured =
      measure({.call = TimedCall::kBeginStep, .steps = kPieceSteps, .pause_s = 0.01});
  ASSERT_TRUE(measured) << measured.error().message();
  EXPECT_GT(measured->blocked_s, 0);
  expect_steps(kPieceSteps);
}

TEST_F(TimedCalls, step_right_after_opening_has_no_warm_up) {
  ASSERT_TRUE(measure({.call = TimedCall::kBeginStep, .steps = 1}));
  expect_steps(0);
}

TEST_F(TimedCalls, plain_copy_writes_no_file) {
  const auto measured = measure({.call = TimedCall::kMemoryCopy, .steps = kPieceSteps});
  ASSERT_TRUE(measured) << measured.error().message();
  EXPECT_GT(measured->blocked_s, 0);
  EXPECT_EQ(count_files(checkpoint_.directory), 0U);
}

}  // namespace
}  // namespace forebay::bench::checkpoint
