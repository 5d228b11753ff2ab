// SPDX-License-Identifier: Apache-2.0
// Every candidate of this program, on the available ranks: it writes the bytes that it was given,
// reads them back if it can, and its measured values are consistent.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include "bench/checkpoint/content.hpp"
#include "bench/checkpoint/run_files.hpp"
#include "bench/checkpoint/runtimes.hpp"
#include "bench/checkpoint/size_distribution.hpp"
#include "bench/checkpoint/team_testing.hpp"
#include "bench/checkpoint/trial.hpp"
#include "bench/checkpoint/verify_written.hpp"
#include "bench/frame/file_partition.hpp"

namespace forebay::bench::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kSteps = 4;  // more than lent buffers: some are reused
constexpr std::uint64_t kStepBytes = (1ULL << 20U) + 8 * 123;  // not a multiple of a disk block

/// Counts one call in each step, one in close(), and five in make_durable().
class CountingCandidate final : public Candidate {
 public:
  explicit CountingCandidate(std::uint64_t& calls) : calls_(calls) {}
  std::string name() const override { return "caller"; }
  Result<std::unique_ptr<Writer>> open(const RankTeam& /*team*/,
                                       const Checkpoint& /*checkpoint*/) const override {
    return std::make_unique<CountingWriter>(calls_);
  }

 private:
  class CountingWriter final : public Writer {
   public:
    explicit CountingWriter(std::uint64_t& calls) : calls_(calls) {}
    Status write_step(std::uint32_t /*step*/, std::span<const std::byte> /*block*/) override {
      return call(1);
    }
    Status close() override { return call(1); }
    Status make_durable() override { return call(5); }

   private:
    Status call(std::uint64_t times) {
      calls_ += times;
      return {};
    }
    std::uint64_t& calls_;
  };

  std::uint64_t& calls_;
};

const Candidate& candidate_named(const std::string& name) {
  const auto& all = all_candidates();
  return **std::find_if(all.begin(), all.end(),
                        [&](const auto& one) { return one->name() == name; });
}

void corrupt_file(const fs::path& path, std::streamoff offset) {
  std::fstream file(path, std::ios::in | std::ios::out);
  file.seekp(offset);
  file.put('!').put('!');
}

class Candidates : public testing::Test {
 protected:
  Candidates() {
    checkpoint_.directory = directory_.path();
    checkpoint_.steps = kSteps;
  }
  ~Candidates() override { end_runtimes(); }

  Result<TrialResult> write(const Candidate& candidate, SizeDistribution sizes) {
    checkpoint_.block_bytes = block_sizes(sizes, team_.size, kStepBytes);
    directory_.clear();
    const PrefaultedMemory block =
        PrefaultedMemory::make(checkpoint_.block_bytes[team_.rank]).value();
    return measure_write(candidate, team_, checkpoint_, {ComputeKind::kCpu, 2}, {block.bytes()});
  }

  Status check(const Candidate& candidate, CheckLevel what) {
    const PrefaultedMemory buffer =
        PrefaultedMemory::make(read_buffer_bytes(checkpoint_, team_.size)).value();
    return verify_written(candidate, team_, checkpoint_, what, buffer.bytes());
  }

  const RankTeam team_ = world_team();
  const TeamDirectory directory_{team_, "candidates"};
  Checkpoint checkpoint_;
};

TEST_F(Candidates, write_every_byte_and_read_it_back) {
  ASSERT_FALSE(all_candidates().empty());
  for (const auto& candidate : all_candidates()) {
    if (team_.size < candidate->ranks_min()) continue;
    for (const SizeDistribution sizes :
         {SizeDistribution::kEqual, SizeDistribution::kExponential}) {
      SCOPED_TRACE(candidate->name());
      const auto measured = write(*candidate, sizes);
      ASSERT_TRUE(measured) << measured.error().message();
      if (!candidate->can_read()) continue;
      const PrefaultedMemory buffer =
          PrefaultedMemory::make(read_buffer_bytes(checkpoint_, team_.size)).value();
      for (std::uint32_t step = 0; step < kSteps; ++step) {
        const auto seconds = measure_restart(*candidate, team_, checkpoint_, step, buffer.bytes());
        ASSERT_TRUE(seconds) << seconds.error().message();
        EXPECT_GT(*seconds, 0);
      }
    }
  }
}

TEST_F(Candidates, have_consistent_results) {
  for (const auto& candidate : all_candidates()) {
    if (team_.size < candidate->ranks_min()) continue;
    SCOPED_TRACE(candidate->name());
    const auto measured = write(*candidate, SizeDistribution::kEqual);
    ASSERT_TRUE(measured) << measured.error().message();
    EXPECT_EQ(measured->payload_bytes, kStepBytes * kSteps);
    EXPECT_GT(measured->blocked_s, 0);
    EXPECT_GT(measured->computing_s, 0);
    EXPECT_GE(measured->total_s, measured->blocked_s);
    EXPECT_GE(measured->durable_s, measured->total_s);
    EXPECT_GE(measured->memory_sum_bytes, measured->memory_max_bytes);
    EXPECT_GE(measured->files, 1);
    EXPECT_LT(measured->dedicated_ranks, team_.size);
    EXPECT_GE(measured->memory_sum_bytes, measured->staging_bytes);
    EXPECT_LE(measured->staging_over_plan, 1);
  }
}

TEST_F(Candidates, are_read_by_fewer_ranks_than_wrote) {
  const bool reads = team_.rank + 1 < team_.size || team_.size == 1;
  MPI_Comm part = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, reads ? 0 : 1, 0, &part);
  const RankTeam readers = team_of(part);
  for (const auto& candidate : all_candidates()) {
    if (!candidate->can_read() || team_.size < candidate->ranks_min()) continue;
    const auto measured = write(*candidate, SizeDistribution::kExponential);
    ASSERT_TRUE(measured) << measured.error().message();
    if (!reads) continue;
    const PrefaultedMemory buffer =
        PrefaultedMemory::make(read_buffer_bytes(checkpoint_, readers.size)).value();
    const auto seconds = measure_restart(*candidate, readers, checkpoint_, 1, buffer.bytes());
    EXPECT_TRUE(seconds) << candidate->name() << ": " << seconds.error().message();
  }
  end_runtimes();
  MPI_Comm_free(&part);
}

// By reading it, or by searching each block in all files.
TEST_F(Candidates, write_every_byte_of_all_steps) {
  for (const auto& candidate : all_candidates()) {
    if (team_.size < candidate->ranks_min()) continue;
    for (const SizeDistribution sizes :
         {SizeDistribution::kEqual, SizeDistribution::kExponential}) {
      SCOPED_TRACE(candidate->name());
      const auto measured = write(*candidate, sizes);
      ASSERT_TRUE(measured) << measured.error().message();
      const Status right = check(*candidate, CheckLevel::kContent);
      EXPECT_TRUE(right) << right.error().message();
    }
  }
}

TEST_F(Candidates, write_on_all_ranks_after_a_run_of_some) {
  MPI_Comm part = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, team_.rank == 0 ? 0 : 1, 0, &part);
  const RankTeam first = team_of(part);
  for (const auto& candidate : all_candidates()) {
    if (candidate->can_read() || candidate->ranks_min() > 1) continue;
    SCOPED_TRACE(candidate->name());
    directory_.clear();
    const Checkpoint own{.directory = directory_.path(), .block_bytes = {4096}, .steps = 1};
    const PrefaultedMemory block = PrefaultedMemory::make(4096).value();
    if (team_.rank == 0) {
      EXPECT_TRUE(measure_write(*candidate, first, own, {}, {block.bytes()}));
    }
    const auto measured = write(*candidate, SizeDistribution::kEqual);
    EXPECT_TRUE(measured) << measured.error().message();
  }
  MPI_Comm_free(&part);
}

TEST_F(Candidates, wrong_word_in_a_file_is_damage) {
  const Candidate& plain = candidate_named("mpi-io:independent");
  ASSERT_TRUE(write(plain, SizeDistribution::kEqual));
  if (team_.rank == 0) corrupt_file(checkpoint_.directory / "step1", 70'000);
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_TRUE(check(plain, CheckLevel::kSizes));
  const Status wrong = check(plain, CheckLevel::kContent);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().kind(), ErrorClass::kDamage);
}

TEST_F(Candidates, candidate_without_files_is_damage) {
  std::uint64_t calls = 0;
  const CountingCandidate idle(calls);
  ASSERT_TRUE(write(idle, SizeDistribution::kEqual));
  const Status nothing = check(idle, CheckLevel::kSizes);
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().kind(), ErrorClass::kDamage);
  EXPECT_EQ(nothing.error().rank(), 0U);
}

TEST_F(Candidates, restart_detects_wrong_bytes) {
  const Candidate& direct = candidate_named("fpp:direct");
  ASSERT_TRUE(write(direct, SizeDistribution::kEqual));
  if (team_.rank == 0) corrupt_file(checkpoint_.directory / "step1.0", 1000);
  MPI_Barrier(MPI_COMM_WORLD);
  const PrefaultedMemory buffer =
      PrefaultedMemory::make(read_buffer_bytes(checkpoint_, team_.size)).value();
  const auto seconds = measure_restart(direct, team_, checkpoint_, 1, buffer.bytes());
  ASSERT_FALSE(seconds);
  EXPECT_EQ(seconds.error().kind(), ErrorClass::kDamage);
  EXPECT_EQ(seconds.error().rank(), 0U);
}

TEST_F(Candidates, calls_are_counted_until_all_is_durable) {
  checkpoint_.block_bytes = block_sizes(SizeDistribution::kEqual, team_.size, kStepBytes);
  const PrefaultedMemory block =
      PrefaultedMemory::make(checkpoint_.block_bytes[team_.rank]).value();
  std::uint64_t calls = 1000;
  const auto measured = measure_write(CountingCandidate(calls), team_, checkpoint_, {},
                                      {block.bytes(), [&calls] { return calls; }});
  ASSERT_TRUE(measured) << measured.error().message();
  EXPECT_EQ(measured->metadata_calls, (kSteps + 1 + 5) * team_.size);
}

TEST_F(Candidates, failure_of_one_rank_is_returned_on_all) {
  checkpoint_.block_bytes = block_sizes(SizeDistribution::kEqual, team_.size, kStepBytes);
  const Status mine = team_.rank + 1 == team_.size
                          ? Status(failure({.kind = ErrorClass::kNoSpace, .operation = "write"}))
                          : Status();
  const Status all = agree(team_, mine);
  ASSERT_FALSE(all);
  EXPECT_EQ(all.error().kind(), ErrorClass::kNoSpace);
  EXPECT_EQ(all.error().rank(), team_.size - 1);
}

TEST(Content, content_of_another_step_or_offset_is_detected) {
  std::vector<std::byte> bytes(1 << 16U);
  fill_content(bytes, {3, 8});
  EXPECT_EQ(first_mismatch(bytes, {3, 8}), std::nullopt);
  EXPECT_TRUE(first_mismatch(bytes, {4, 8}));
  EXPECT_TRUE(first_mismatch(bytes, {3, 16}));
  restamp(bytes, {4, 8});
  EXPECT_EQ(first_mismatch(bytes, {4, 8}), std::nullopt);
}

TEST(Restart, ranks_share_a_step_without_gaps) {
  const Checkpoint checkpoint{.directory = "", .block_bytes = {8, 80, 16, 808}, .steps = 1};
  for (std::uint32_t readers = 1; readers < 9; ++readers) {
    std::uint64_t end = 0;
    for (std::uint32_t reader = 0; reader < readers; ++reader) {
      const ByteRange range = share_of(checkpoint, reader, readers);
      EXPECT_EQ(range.offset, end);
      EXPECT_LE(range.size + 8192, read_buffer_bytes(checkpoint, readers));
      end += range.size;
    }
    EXPECT_EQ(end, checkpoint.step_bytes());
  }
}

}  // namespace
}  // namespace forebay::bench::checkpoint
