// SPDX-License-Identifier: Apache-2.0
// Programs are killed repeatedly while they write a dataset. Each step with a receipt is complete,
// incomplete steps are never visible, and the next run continues after the newest step.
#include <chrono>
#include <cstdint>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "base/testing.hpp"
#include "dataset_checks.hpp"
#include "test_contents.hpp"
#include "test_seeds.hpp"
#include "writer_process.hpp"

namespace forebay::faults {
namespace {

using std::chrono::microseconds;

constexpr std::uint64_t kKillsEach = 5;
constexpr std::uint64_t kDatasets = 4;      ///< 20 kills
constexpr std::uint64_t kDatasetsAll = 40;  ///< 200
constexpr auto kStartMax = std::chrono::seconds(60);

class Killed : public testing::TestWithParam<std::uint64_t> {
 protected:
  /// Runs a writer and kills it after some receipts and a delay.
  void run_and_kill() {
    const std::uint64_t config = random_();
    SCOPED_TRACE(random_config(config).text());
    WriterProcess writer({path_, contents_.seed(), config, 1'000'000});
    const std::size_t receipts = random_() % 4;
    writer.wait_for(receipts, kStartMax);
    writer.wait_for(SIZE_MAX, microseconds(random_() % 60'000));
    writer.kill();
    EXPECT_GE(writer.acknowledged().size(), receipts);
    if (!writer.acknowledged().empty()) newest_ = writer.acknowledged().back();
    if (newest_ > 0) {
      EXPECT_TRUE(is_intact(path_, contents_, newest_));
      EXPECT_TRUE(has_no_gap(path_));
    }
  }

  /// Runs a writer to its end.
  void run_again() {
    const std::uint64_t config = random_();
    SCOPED_TRACE(random_config(config).text());
    WriterProcess writer({path_, contents_.seed(), config, 2});
    EXPECT_EQ(writer.error_at_exit(), "");
    ASSERT_EQ(writer.acknowledged().size(), 2U);
    EXPECT_GT(writer.acknowledged().front(), newest_);
    EXPECT_TRUE(is_intact(path_, contents_, writer.acknowledged().back()));
    EXPECT_TRUE(has_no_gap(path_));
  }

  const TemporaryDirectory directory_;
  const std::string path_ = directory_ / "run.fb";
  const TestContents contents_{GetParam()};
  std::mt19937_64 random_{GetParam()};
  std::uint64_t newest_ = 0;
};

TEST_P(Killed, programs_lose_no_acknowledged_step) {
  for (std::uint64_t kill = 0; kill < kKillsEach && !HasFailure(); ++kill) {
    SCOPED_TRACE("kill " + std::to_string(kill));
    run_and_kill();
  }
  run_again();
  EXPECT_EQ(stray_files(path_), std::vector<std::string>());
}

INSTANTIATE_TEST_SUITE_P(
    Seeds,
    Killed,
    testing::Range<std::uint64_t>(1, 1 + (is_exhaustive() ? kDatasetsAll : kDatasets)),
    seed_name);

}  // namespace
}  // namespace forebay::faults
