// SPDX-License-Identifier: Apache-2.0
// Bytes that MPI-IO moves for a step that ranks write together. A hole between the bytes of a
// collective call makes it read and rewrite the whole range.
#include <forebay/mpi.hpp>
#include <forebay/runtime.hpp>

#include <cstdint>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "comm/mpi/testing.hpp"

namespace forebay {
namespace {

using comm::value_or_throw;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;
constexpr std::uint64_t kSteps = 3;

/// Bytes that this process has moved by system calls such as pwrite(); io_uring counts none.
struct IoCounters {
  std::uint64_t read = 0;
  std::uint64_t written = 0;

  static IoCounters now() {
    std::ifstream in("/proc/self/io");
    IoCounters counters;
    std::string key;
    for (std::uint64_t value = 0; in >> key >> value;) {
      if (key == "rchar:") counters.read = value;
      if (key == "wchar:") counters.written = value;
    }
    return counters;
  }
};

/// Blocks of each rank in a step. Some are larger than a segment of staging, so that MPI-IO gets
/// these in several pieces. They are the same on all ranks, or not.
struct BlockSizes {
  const char* name;
  std::vector<std::uint64_t> bytes;
  std::uint64_t bytes_per_rank = 0;
};

class DenseRoundsOnRanks : public testing::TestWithParam<BlockSizes> {
 protected:
  std::uint64_t rank() const { return world_->rank().number; }
  std::vector<std::vector<double>> blocks_of(std::uint64_t step) const {
    std::vector<std::vector<double>> blocks;
    for (const std::uint64_t bytes : GetParam().bytes) {
      const std::uint64_t mine = bytes + rank() * GetParam().bytes_per_rank;
      blocks.emplace_back(mine / sizeof(double), static_cast<double>(step * 1000 + rank()));
    }
    return blocks;
  }
  static std::string field_of(std::size_t block) { return "field " + std::to_string(block); }

  /// Returns the bytes that this rank put.
  std::uint64_t write(const WritePlan& plan) {
    auto dataset = value_or_throw(runtime_.create_dataset(path_, {.plan = plan}), "create");
    std::uint64_t bytes = 0;
    for (std::uint64_t number = 1; number <= kSteps; ++number) {
      auto step = value_or_throw(dataset.begin_step(number), "begin");
      const auto blocks = blocks_of(number);
      for (std::size_t i = 0; i < blocks.size(); ++i) {
        EXPECT_TRUE(step.put(field_of(i), Part{rank()}, std::span(blocks[i])));
        bytes += blocks[i].size() * sizeof(double);
      }
      const auto receipt = step.commit().wait();
      EXPECT_TRUE(receipt) << receipt.error().message();
    }
    EXPECT_TRUE(dataset.close());
    return bytes;
  }
  void expect_all() {
    const auto dataset = value_or_throw(runtime_.open_dataset(path_), "open");
    for (std::uint64_t number = 1; number <= kSteps; ++number) {
      const auto step = value_or_throw(dataset.open_step(number), "step");
      const auto blocks = blocks_of(number);
      for (std::size_t i = 0; i < blocks.size(); ++i) {
        std::vector<double> got(blocks[i].size());
        EXPECT_TRUE(step.read(field_of(i), Part{rank()}, std::span(got)).wait());
        EXPECT_TRUE(got == blocks[i]) << "step " << number << ", block " << i;
      }
    }
  }
  std::uint64_t sum(std::uint64_t mine) const {
    return value_or_throw(world_->all_reduce(comm::Reduction::kSum, mine), "sum");
  }

  const std::shared_ptr<comm::Communicator> world_ = comm::from_mpi(MPI_COMM_WORLD).value();
  const comm::SharedDirectory directory_{world_,
                                         "/dev/shm"};  ///< MPI-IO writes through the page cache
  const std::string path_ = directory_ / "run.fb";
  Runtime runtime_{ranks_of(MPI_COMM_WORLD)};
};

// It once wrote 13 MB/s on storage that takes 435: each round had the later rounds as holes, and
// the file was written 3.25 times.
TEST_P(DenseRoundsOnRanks, collective_write_writes_each_byte_once) {
  const IoCounters before = IoCounters::now();
  const std::uint64_t bytes = write({.strategy = Strategy::kCollective,
                                     .files = 1,
                                     .memory_bytes = 64 * kMiB,
                                     .tuning = {.unit_bytes = kMiB}});
  const IoCounters after = IoCounters::now();
  const auto data = static_cast<double>(sum(bytes));
  const auto written = static_cast<double>(sum(after.written - before.written));
  EXPECT_LE(written, 1.02 * data);
  EXPECT_LE(static_cast<double>(sum(after.read - before.read)), 0.02 * data);
  // While staging memory is still prefaulted, a rank may write without the others.
  EXPECT_GE(written, data / kSteps) << "by MPI-IO";
  expect_all();
}

INSTANTIATE_TEST_SUITE_P(Blocks,
                         DenseRoundsOnRanks,
                         testing::Values(BlockSizes{"one", {8 * kMiB}},
                                         BlockSizes{"several", {3 * kMiB, 4 * kMiB, 3 * kMiB}},
                                         BlockSizes{
                                             "uneven", {5 * kMiB + 8, kMiB / 2}, 2 * kMiB + 16}),
                         [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace forebay
