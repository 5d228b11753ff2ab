// SPDX-License-Identifier: Apache-2.0
// After a job its steps are complete, whatever ranks computed and wrote.
#include "bench/checkpoint/job.hpp"

#include <forebay/runtime.hpp>

#include <gtest/gtest.h>

#include "bench/checkpoint/content.hpp"
#include "bench/checkpoint/team_testing.hpp"
#include "bench/frame/file_partition.hpp"

namespace forebay::bench::checkpoint {
namespace {

constexpr std::uint32_t kStepsOfJob = 3;
constexpr std::uint64_t kStepOfJobBytes = (5ULL << 18U) + 8;

class Jobs : public testing::TestWithParam<Placement> {
 protected:
  Jobs() {
    checkpoint_.directory = directory_.path();
    checkpoint_.block_bytes = {kStepOfJobBytes};
    checkpoint_.steps = kStepsOfJob;
  }

  /// Reads all parts in a program of one rank.
  void expect_all_steps(std::uint32_t parts) const {
    Runtime runtime;
    const auto dataset = runtime.open_dataset(checkpoint_.directory / "job.fb");
    ASSERT_TRUE(dataset) << dataset.error().message();
    EXPECT_EQ(dataset->steps().size(), kStepsOfJob);
    for (std::uint32_t number = 0; number < kStepsOfJob; ++number)
      for (std::uint32_t part = 0; part < parts; ++part) {
        const ByteRange share = share_of(checkpoint_, part, parts);
        const PrefaultedMemory buffer = PrefaultedMemory::make(share.size).value();
        const auto bytes = buffer.bytes().first(share.size);
        const auto read =
            dataset->open_step(number).value().read("block", Part{part}, bytes).wait();
        ASSERT_TRUE(read) << read.error().message();
        EXPECT_EQ(first_mismatch(bytes, {number, share.offset}), std::nullopt) << "part " << part;
      }
  }

  const RankTeam team_ = world_team();
  const TeamDirectory directory_{team_, "jobs"};
  Checkpoint checkpoint_;
};

TEST_P(Jobs, write_all_steps) {
  const PrefaultedMemory memory =
      PrefaultedMemory::make(job_memory_bytes(checkpoint_, team_.size)).value();
  const JobSettings settings{
      .placement = GetParam(), .compute_kind = ComputeKind::kCpu, .units = 7};
  const auto measured = measure_job(team_, checkpoint_, settings, memory.bytes());
  ASSERT_TRUE(measured) << measured.error().message();
  // A single rank computes with any placement.
  const bool is_dedicated = GetParam() == Placement::kDedicated && team_.size > 1;
  const std::uint32_t dedicated_ranks = is_dedicated ? 1 : 0;
  EXPECT_EQ(measured->dedicated_ranks, dedicated_ranks);
  EXPECT_GT(measured->computing_s, 0);
  EXPECT_GE(measured->total_s, measured->computing_s);
  EXPECT_GE(measured->durable_s, measured->total_s);
  EXPECT_EQ(measured->payload_bytes, static_cast<double>(kStepsOfJob * kStepOfJobBytes));
  if (team_.rank == 0) expect_all_steps(team_.size - dedicated_ranks);
}

TEST_P(Jobs, unwritable_directory_fails_on_all_ranks) {
  checkpoint_.directory /= "missing/deeper";
  const PrefaultedMemory memory =
      PrefaultedMemory::make(job_memory_bytes(checkpoint_, team_.size)).value();
  const auto measured = measure_job(team_, checkpoint_, {.placement = GetParam()}, memory.bytes());
  ASSERT_FALSE(measured);
  EXPECT_EQ(measured.error().kind(), ErrorClass::kNotFound) << measured.error().message();
}

INSTANTIATE_TEST_SUITE_P(Both,
                         Jobs,
                         testing::Values(Placement::kInRank, Placement::kDedicated),
                         [](const auto& one) {
                           return one.param == Placement::kInRank ? "in_rank" : "dedicated";
                         });

}  // namespace
}  // namespace forebay::bench::checkpoint
