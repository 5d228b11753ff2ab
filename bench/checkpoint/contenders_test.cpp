// SPDX-License-Identifier: Apache-2.0
// Every contender of this program, on the ranks that there are: what it wrote is what it was given,
// read by itself where it can, and what is measured is possible.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include "bench/checkpoint/content.hpp"
#include "bench/checkpoint/runtimes.hpp"
#include "bench/checkpoint/sizes.hpp"
#include "bench/checkpoint/stored.hpp"
#include "bench/checkpoint/team_testing.hpp"
#include "bench/checkpoint/trial.hpp"
#include "bench/checkpoint/written.hpp"
#include "bench/frame/slices.hpp"

namespace forebay::bench::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kSteps = 4;  // more than buffers that are lent: some come again
constexpr std::uint64_t kStepBytes = (1ULL << 20U) + 8 * 123;  // no whole disk blocks

/// Calls once in each step, once in the end, and five times behind the application.
class Caller final : public Contender {
 public:
  explicit Caller(std::uint64_t& calls) : calls_(calls) {}
  std::string name() const override { return "caller"; }
  Result<std::unique_ptr<Writer>> open(const Team& /*team*/,
                                       const Checkpoint& /*checkpoint*/) const override {
    return std::make_unique<CallingWriter>(calls_);
  }

 private:
  class CallingWriter final : public Writer {
   public:
    explicit CallingWriter(std::uint64_t& calls) : calls_(calls) {}
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

const Contender& contender_named(const std::string& name) {
  const auto& all = all_contenders();
  return **std::find_if(all.begin(), all.end(),
                        [&](const auto& one) { return one->name() == name; });
}

void spoil(const fs::path& path, std::streamoff offset) {
  std::fstream file(path, std::ios::in | std::ios::out);
  file.seekp(offset);
  file.put('!').put('!');
}

class Contenders : public testing::Test {
 protected:
  Contenders() {
    checkpoint_.folder = folder_.path();
    checkpoint_.steps = kSteps;
  }
  ~Contenders() override { end_runtimes(); }

  Result<Measured> write(const Contender& contender, Sizes sizes) {
    checkpoint_.block_bytes = block_sizes(sizes, team_.size, kStepBytes);
    folder_.empty();
    const TouchedMemory block = TouchedMemory::make(checkpoint_.block_bytes[team_.rank]).value();
    return measure_writing(contender, team_, checkpoint_, {Computing::kProcessor, 2},
                           {block.bytes()});
  }

  Status check(const Contender& contender, Check what) {
    const TouchedMemory room = TouchedMemory::make(room_bytes(checkpoint_, team_.size)).value();
    return check_written(contender, team_, checkpoint_, what, room.bytes());
  }

  const Team team_ = whole_team();
  const TeamFolder folder_{team_, "contenders"};
  Checkpoint checkpoint_;
};

TEST_F(Contenders, write_every_byte_and_read_it_back) {
  ASSERT_FALSE(all_contenders().empty());
  for (const auto& contender : all_contenders()) {
    if (team_.size < contender->ranks_min()) continue;
    for (const Sizes sizes : {Sizes::kEqual, Sizes::kExponential}) {
      SCOPED_TRACE(contender->name());
      const auto measured = write(*contender, sizes);
      ASSERT_TRUE(measured) << measured.error().message();
      if (!contender->can_read()) continue;
      const TouchedMemory room = TouchedMemory::make(room_bytes(checkpoint_, team_.size)).value();
      for (std::uint32_t step = 0; step < kSteps; ++step) {
        const auto seconds = measure_restart(*contender, team_, checkpoint_, step, room.bytes());
        ASSERT_TRUE(seconds) << seconds.error().message();
        EXPECT_GT(*seconds, 0);
      }
    }
  }
}

TEST_F(Contenders, are_measured_with_numbers_that_can_be) {
  for (const auto& contender : all_contenders()) {
    if (team_.size < contender->ranks_min()) continue;
    SCOPED_TRACE(contender->name());
    const auto measured = write(*contender, Sizes::kEqual);
    ASSERT_TRUE(measured) << measured.error().message();
    EXPECT_EQ(measured->payload_bytes, kStepBytes * kSteps);
    EXPECT_GT(measured->blocked_s, 0);
    EXPECT_GT(measured->computing_s, 0);
    EXPECT_GE(measured->total_s, measured->blocked_s);
    EXPECT_GE(measured->durable_s, measured->total_s);
    EXPECT_GE(measured->memory_sum_bytes, measured->memory_max_bytes);
    EXPECT_GE(measured->files, 1);
    EXPECT_LT(measured->ranks_given_up, team_.size);
    EXPECT_GE(measured->memory_sum_bytes, measured->staging_bytes);
    EXPECT_LE(measured->staging_over_plan, 1);
  }
}

TEST_F(Contenders, are_read_by_fewer_ranks_than_wrote) {
  const bool reads = team_.rank + 1 < team_.size || team_.size == 1;
  MPI_Comm part = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, reads ? 0 : 1, 0, &part);
  const Team readers = team_of(part);
  for (const auto& contender : all_contenders()) {
    if (!contender->can_read() || team_.size < contender->ranks_min()) continue;
    const auto measured = write(*contender, Sizes::kExponential);
    ASSERT_TRUE(measured) << measured.error().message();
    if (!reads) continue;
    const TouchedMemory room = TouchedMemory::make(room_bytes(checkpoint_, readers.size)).value();
    const auto seconds = measure_restart(*contender, readers, checkpoint_, 1, room.bytes());
    EXPECT_TRUE(seconds) << contender->name() << ": " << seconds.error().message();
  }
  end_runtimes();
  MPI_Comm_free(&part);
}

// By reading it, or by looking for each block in all files.
TEST_F(Contenders, leave_every_byte_of_all_steps) {
  for (const auto& contender : all_contenders()) {
    if (team_.size < contender->ranks_min()) continue;
    for (const Sizes sizes : {Sizes::kEqual, Sizes::kExponential}) {
      SCOPED_TRACE(contender->name());
      const auto measured = write(*contender, sizes);
      ASSERT_TRUE(measured) << measured.error().message();
      const Status right = check(*contender, Check::kContent);
      EXPECT_TRUE(right) << right.error().message();
    }
  }
}

TEST_F(Contenders, write_on_all_ranks_after_some_had_a_run_of_their_own) {
  MPI_Comm part = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, team_.rank == 0 ? 0 : 1, 0, &part);
  const Team first = team_of(part);
  for (const auto& contender : all_contenders()) {
    if (contender->can_read() || contender->ranks_min() > 1) continue;
    SCOPED_TRACE(contender->name());
    folder_.empty();
    const Checkpoint own{.folder = folder_.path(), .block_bytes = {4096}, .steps = 1};
    const TouchedMemory block = TouchedMemory::make(4096).value();
    if (team_.rank == 0) {
      EXPECT_TRUE(measure_writing(*contender, first, own, {}, {block.bytes()}));
    }
    const auto measured = write(*contender, Sizes::kEqual);
    EXPECT_TRUE(measured) << measured.error().message();
  }
  MPI_Comm_free(&part);
}

TEST_F(Contenders, a_word_that_is_wrong_in_a_file_is_damage) {
  const Contender& plain = contender_named("mpi-io:independent");
  ASSERT_TRUE(write(plain, Sizes::kEqual));
  if (team_.rank == 0) spoil(checkpoint_.folder / "step1", 70'000);
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_TRUE(check(plain, Check::kSizes));
  const Status wrong = check(plain, Check::kContent);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().kind(), ErrorClass::kDamage);
}

TEST_F(Contenders, one_that_writes_nothing_is_damage) {
  std::uint64_t calls = 0;
  const Caller idle(calls);
  ASSERT_TRUE(write(idle, Sizes::kEqual));
  const Status nothing = check(idle, Check::kSizes);
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().kind(), ErrorClass::kDamage);
  EXPECT_EQ(nothing.error().rank(), 0U);
}

TEST_F(Contenders, wrong_bytes_are_noticed_by_a_restart) {
  const Contender& direct = contender_named("fpp:direct");
  ASSERT_TRUE(write(direct, Sizes::kEqual));
  if (team_.rank == 0) spoil(checkpoint_.folder / "step1.0", 1000);
  MPI_Barrier(MPI_COMM_WORLD);
  const TouchedMemory room = TouchedMemory::make(room_bytes(checkpoint_, team_.size)).value();
  const auto seconds = measure_restart(direct, team_, checkpoint_, 1, room.bytes());
  ASSERT_FALSE(seconds);
  EXPECT_EQ(seconds.error().kind(), ErrorClass::kDamage);
  EXPECT_EQ(seconds.error().rank(), 0U);
}

TEST_F(Contenders, calls_are_counted_until_all_is_durable) {
  checkpoint_.block_bytes = block_sizes(Sizes::kEqual, team_.size, kStepBytes);
  const TouchedMemory block = TouchedMemory::make(checkpoint_.block_bytes[team_.rank]).value();
  std::uint64_t calls = 1000;
  const auto measured = measure_writing(Caller(calls), team_, checkpoint_, {},
                                        {block.bytes(), [&calls] { return calls; }});
  ASSERT_TRUE(measured) << measured.error().message();
  EXPECT_EQ(measured->metadata_calls, (kSteps + 1 + 5) * team_.size);
}

TEST_F(Contenders, a_failure_of_one_rank_is_told_to_all) {
  checkpoint_.block_bytes = block_sizes(Sizes::kEqual, team_.size, kStepBytes);
  const Status mine = team_.rank + 1 == team_.size
                          ? Status(failure({.kind = ErrorClass::kNoSpace, .operation = "write"}))
                          : Status();
  const Status all = agree(team_, mine);
  ASSERT_FALSE(all);
  EXPECT_EQ(all.error().kind(), ErrorClass::kNoSpace);
  EXPECT_EQ(all.error().rank(), team_.size - 1);
}

TEST(Content, of_another_step_or_place_is_seen) {
  std::vector<std::byte> bytes(1 << 16U);
  fill(bytes, {3, 8});
  EXPECT_EQ(first_wrong(bytes, {3, 8}), std::nullopt);
  EXPECT_TRUE(first_wrong(bytes, {4, 8}));
  EXPECT_TRUE(first_wrong(bytes, {3, 16}));
  stamp(bytes, {4, 8});
  EXPECT_EQ(first_wrong(bytes, {4, 8}), std::nullopt);
}

TEST(Restart, ranks_share_a_step_without_gaps) {
  const Checkpoint checkpoint{.folder = "", .block_bytes = {8, 80, 16, 808}, .steps = 1};
  for (std::uint32_t readers = 1; readers < 9; ++readers) {
    std::uint64_t end = 0;
    for (std::uint32_t reader = 0; reader < readers; ++reader) {
      const ByteRange range = share_of(checkpoint, reader, readers);
      EXPECT_EQ(range.offset, end);
      EXPECT_LE(range.size + 8192, room_bytes(checkpoint, readers));
      end += range.size;
    }
    EXPECT_EQ(end, checkpoint.step_bytes());
  }
}

}  // namespace
}  // namespace forebay::bench::checkpoint
