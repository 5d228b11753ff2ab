// SPDX-License-Identifier: Apache-2.0
// Datasets that some ranks of this job write together by MPI-IO, read by other numbers of ranks.
// The restarts of tests/faults/datasets, whose ranks are threads, write without MPI-IO.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "comm/mpi/testing.hpp"
#include "comm/ranks_access.hpp"
#include "tests/faults/datasets/restart_reader.hpp"
#include "tests/faults/datasets/test_contents.hpp"

namespace forebay::faults {
namespace {

using Communicator = std::shared_ptr<comm::Communicator>;

/// Step n of the contents is split along dimension n % 3.
constexpr std::uint64_t kSteps = 3;

class CollectiveRestarts : public testing::TestWithParam<std::uint32_t> {
 protected:
  std::uint32_t writers() const { return GetParam(); }
  /// Runs `test` on the first ranks of the job; the others wait until these have finished.
  void on_ranks(std::uint32_t count, const std::function<void(const Communicator&)>& test) const {
    const bool is_one = world_->rank().number < count;
    const auto some = world_->split({.color = is_one ? 0U : 1U, .key = 0});
    ASSERT_TRUE(some) << some.error().message();
    ASSERT_NE(comm::handle_of(**some), MPI_COMM_NULL);
    if (is_one) test(*some);
    ASSERT_TRUE(world_->barrier());
  }
  void write(const Communicator& ranks) const {
    Runtime runtime{comm::make_ranks(ranks)};
    // Several collective rounds for each step.
    const WritePlan plan{
        .strategy = Strategy::kCollective, .memory_bytes = 2_MiB, .tuning = {.unit_bytes = 64_KiB}};
    auto dataset = runtime.create_dataset(path_, {.plan = plan});
    ASSERT_TRUE(dataset) << dataset.error().message();
    for (std::uint64_t step = 1; step <= kSteps; ++step) {
      const auto receipt = write_step(runtime, *dataset, contents_, step);
      ASSERT_TRUE(receipt) << receipt.error().message();
    }
    const Status closed = dataset->close();
    EXPECT_TRUE(closed) << closed.error().message();
  }
  void expect_same(const Communicator& ranks) const {
    Runtime runtime{comm::make_ranks(ranks)};
    const auto dataset = runtime.open_dataset(path_);
    ASSERT_TRUE(dataset) << dataset.error().message();
    ASSERT_EQ(dataset->steps().size(), kSteps);
    for (const std::uint64_t number : dataset->steps()) {
      const auto step = dataset->open_step(number);
      ASSERT_TRUE(step) << step.error().message();
      SCOPED_TRACE("step " + std::to_string(number));
      RestartReader(*step, contents_, *ranks).expect_all();
    }
  }

  const Communicator world_ = comm::from_mpi(MPI_COMM_WORLD).value();
  const comm::SharedDirectory directory_{world_,
                                         "/dev/shm"};  ///< MPI-IO writes through the page cache
  const std::string path_ = directory_ / "run.fb";
  const TestContents contents_{3};  ///< some MB in each step
};

TEST_P(CollectiveRestarts, restart_on_other_rank_counts_is_exact) {
  ASSERT_LE(writers(), world_->size());
  on_ranks(writers(), [this](const Communicator& ranks) { write(ranks); });
  for (std::uint32_t readers = 1; readers <= world_->size(); ++readers) {
    if (readers == writers()) continue;
    SCOPED_TRACE(std::to_string(readers) + " readers");
    on_ranks(readers, [this](const Communicator& ranks) { expect_same(ranks); });
  }
}

INSTANTIATE_TEST_SUITE_P(Writers,
                         CollectiveRestarts,
                         testing::Values(2U, 3U),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace forebay::faults
