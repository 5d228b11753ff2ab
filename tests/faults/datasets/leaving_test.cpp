// SPDX-License-Identifier: Apache-2.0
// Ranks that end in the middle of a step, whatever their role was: the others are told which, in
// bounded time; what was there before stays, and what was committed is waited for.
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing.hpp"
#include "cargo.hpp"
#include "comm/in_process.hpp"
#include "reading.hpp"

namespace forebay::faults {
namespace {

using Communicator = std::shared_ptr<comm::Communicator>;

constexpr std::uint32_t kRanksOfOne = 4;
/// Of a step that a rank gives up, which the others learn long before.
constexpr auto kLongDeadline = std::chrono::minutes(5);
/// Of a step that ends by its deadline.
constexpr auto kDeadline = std::chrono::milliseconds(1500);

/// How a rank ends its Runtime.
enum class Leaving : std::uint8_t {
  kGivesUp,  ///< with the step gone before
  kHoldsOn,  ///< with the step open: nobody hears that it is given up
};

struct Exit {
  Strategy strategy;
  std::uint32_t rank;
  Leaving how;

  friend std::ostream& operator<<(std::ostream& out, const Exit& exit) {
    return out << name_of(exit.strategy) << ", rank " << exit.rank;
  }
};

std::string exit_name(const testing::TestParamInfo<Exit>& info) {
  std::string name(name_of(info.param.strategy));
  for (char& letter : name)
    if (letter == '-') letter = '_';
  name += info.param.how == Leaving::kGivesUp ? "_gives_up_" : "_holds_on_";
  return name + std::to_string(info.param.rank);
}

std::vector<Exit> exits() {
  std::vector<Exit> all;
  for (const Strategy strategy : kStrategies)
    for (std::uint32_t rank = 0; rank < kRanksOfOne; ++rank)
      all.push_back({strategy, rank, Leaving::kGivesUp});
  // Takes three deadlines each: the first rank, which coordinates, a writer, and one that is none.
  for (const Strategy strategy : {Strategy::kReducedBlocking, Strategy::kBrigade})
    for (const std::uint32_t rank : {0U, 1U, 2U})
      all.push_back({strategy, rank, Leaving::kHoldsOn});
  return all;
}

class RankThatEnds : public testing::TestWithParam<Exit> {
 protected:
  WritePlan plan() const {
    WritePlan plan{.strategy = GetParam().strategy};
    plan.unit_bytes = 64_KiB;
    plan.memory_bytes = 4_MiB;
    plan.deadline = GetParam().how == Leaving::kGivesUp ? kLongDeadline : kDeadline;
    if (plan.strategy == Strategy::kReducedBlocking) plan.writers = plan.files = 2;
    return plan;
  }

  /// One rank's whole run.
  Status run(const Communicator& ranks) {
    auto runtime = std::make_unique<Runtime>(Ranks(ranks));
    auto dataset = runtime->dataset(path_, plan());
    if (!dataset) return failure(dataset.error());
    if (const auto first = write_step(*runtime, *dataset, cargo_, 1); !first)
      return failure(first.error());
    auto step = dataset->begin_step(2);
    if (!step) return failure(step.error());
    if (const Status put = put_share(*runtime, *step, cargo_); !put) return put;
    if (ranks->rank().number == GetParam().rank) {
      if (GetParam().how == Leaving::kGivesUp) step->abandon();
      runtime.reset();
      return {};
    }
    expect_named(step->commit().wait());
    expect_named(write_step(*runtime, *dataset, cargo_, 3));
    std::ignore = dataset->close();
    runtime.reset();
    return {};
  }

  static void expect_named(const Result<Receipt>& receipt) {
    ASSERT_FALSE(receipt) << "published without a rank's share";
    const Error& error = receipt.error();
    const std::string number = std::to_string(GetParam().rank);
    const bool is_named = error.rank() == GetParam().rank || mentions(error, "rank " + number) ||
                          mentions(error, "not committed it: " + number);
    EXPECT_TRUE(is_named) << error.message();
  }

  /// The dataset goes on with other ranks.
  void go_on() {
    const Status done = comm::run_ranks({.count = 2}, [this](const Communicator& ranks) -> Status {
      Runtime runtime{Ranks(ranks)};
      auto dataset = runtime.dataset(path_, plan());
      if (!dataset) return failure(dataset.error());
      EXPECT_EQ(dataset->newest_step(), 1U);
      const auto receipt = write_step(runtime, *dataset, cargo_, 4);
      return receipt ? dataset->close() : failure(receipt.error());
    });
    EXPECT_TRUE(done) << done.error().message();
    EXPECT_TRUE(is_whole(path_, cargo_, 4));
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_ / "run.fb";
  const Cargo cargo_{7};
};

TEST_P(RankThatEnds, in_mid_step_is_named_to_all_others) {
  const Status done = comm::run_ranks({.count = kRanksOfOne},
                                      [this](const Communicator& ranks) { return run(ranks); });
  EXPECT_TRUE(done) << done.error().message();
  go_on();
}

INSTANTIATE_TEST_SUITE_P(All, RankThatEnds, testing::ValuesIn(exits()), exit_name);

TEST(RankThatEnds, as_soon_as_it_has_committed_loses_nothing) {
  const TemporaryFolder folder;
  const std::string path = folder / "run.fb";
  const Cargo cargo(8);
  for (const Strategy strategy : kStrategies) {
    SCOPED_TRACE(name_of(strategy));
    const Status done =
        comm::run_ranks({.count = kRanksOfOne}, [&](const Communicator& ranks) -> Status {
          Runtime runtime{Ranks(ranks)};
          auto dataset = runtime.dataset(path, strategy);
          if (!dataset) return failure(dataset.error());
          auto step = dataset->begin_step(dataset->newest_step().value_or(0) + 1);
          if (!step) return failure(step.error());
          if (const Status put = put_share(runtime, *step, cargo); !put) return put;
          std::ignore = step->commit();
          return {};
        });
    EXPECT_TRUE(done) << done.error().message();
  }
  EXPECT_TRUE(is_whole(path, cargo, kStrategies.size()));
}

}  // namespace
}  // namespace forebay::faults
