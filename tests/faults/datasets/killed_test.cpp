// SPDX-License-Identifier: Apache-2.0
// Programs that are killed while they write a dataset, again and again: whatever they had a receipt
// for is there and whole, nothing else looks as if it were, and the next run goes on from there.
#include <chrono>
#include <cstdint>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "base/testing.hpp"
#include "cargo.hpp"
#include "how_often.hpp"
#include "reading.hpp"
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
  /// One that writes until it is killed: after some receipts and a moment.
  void run_and_kill() {
    const std::uint64_t way = random_();
    SCOPED_TRACE(way_of(way).text());
    WriterProcess writer({path_, cargo_.seed(), way, 1'000'000});
    const std::size_t receipts = random_() % 4;
    writer.wait_for(receipts, kStartMax);
    writer.wait_for(SIZE_MAX, microseconds(random_() % 60'000));
    writer.kill();
    EXPECT_GE(writer.promised().size(), receipts);
    if (!writer.promised().empty()) newest_ = writer.promised().back();
    if (newest_ > 0) {
      EXPECT_TRUE(is_whole(path_, cargo_, newest_));
      EXPECT_TRUE(has_no_gap(path_));
    }
  }

  /// One that comes to its end.
  void run_again() {
    const std::uint64_t way = random_();
    SCOPED_TRACE(way_of(way).text());
    WriterProcess writer({path_, cargo_.seed(), way, 2});
    EXPECT_EQ(writer.complaint_at_end(), "");
    ASSERT_EQ(writer.promised().size(), 2U);
    EXPECT_GT(writer.promised().front(), newest_);
    EXPECT_TRUE(is_whole(path_, cargo_, writer.promised().back()));
    EXPECT_TRUE(has_no_gap(path_));
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_ / "run.fb";
  const Cargo cargo_{GetParam()};
  std::mt19937_64 random_{GetParam()};
  std::uint64_t newest_ = 0;
};

TEST_P(Killed, programs_lose_no_step_that_they_had_a_receipt_for) {
  for (std::uint64_t kill = 0; kill < kKillsEach && !HasFailure(); ++kill) {
    SCOPED_TRACE("kill " + std::to_string(kill));
    run_and_kill();
  }
  run_again();
  EXPECT_EQ(leftovers(path_), std::vector<std::string>());
}

INSTANTIATE_TEST_SUITE_P(
    Seeds,
    Killed,
    testing::Range<std::uint64_t>(1, 1 + (tries_all() ? kDatasetsAll : kDatasets)),
    seed_name);

}  // namespace
}  // namespace forebay::faults
