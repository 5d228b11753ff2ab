// SPDX-License-Identifier: Apache-2.0
// Ranks that exit in the middle of a step, in any role. The other ranks get an Error that names the
// rank, in bounded time. Earlier steps remain, and committed steps are completed.
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing.hpp"
#include "comm/in_process.hpp"
#include "comm/ranks_access.hpp"
#include "dataset_checks.hpp"
#include "test_contents.hpp"

namespace forebay::faults {
namespace {

using Communicator = std::shared_ptr<comm::Communicator>;

constexpr std::uint32_t kRanksOfOne = 4;
/// For a step that a rank aborts, which the others learn long before this deadline.
constexpr auto kLongDeadline = std::chrono::minutes(5);
/// For a step that ends by its deadline.
constexpr auto kDeadline = std::chrono::milliseconds(1500);

/// How a rank ends its Runtime.
enum class ExitMode : std::uint8_t {
  kAbandonsStep,  ///< after aborting its step
  kHoldsStep,     ///< with an open step, which no message reports as aborted
};

struct RankExit {
  Strategy strategy;
  std::uint32_t rank;
  ExitMode mode;

  friend std::ostream& operator<<(std::ostream& out, const RankExit& exit) {
    return out << name_of(exit.strategy) << ", rank " << exit.rank;
  }
};

std::string exit_name(const testing::TestParamInfo<RankExit>& info) {
  std::string name(name_of(info.param.strategy));
  for (char& letter : name)
    if (letter == '-') letter = '_';
  name += info.param.mode == ExitMode::kAbandonsStep ? "_aborts_" : "_holds_";
  return name + std::to_string(info.param.rank);
}

std::vector<RankExit> exits() {
  std::vector<RankExit> cases;
  for (const Strategy strategy : kStrategies)
    for (std::uint32_t rank = 0; rank < kRanksOfOne; ++rank)
      cases.push_back({strategy, rank, ExitMode::kAbandonsStep});
  // Takes three deadlines each: the coordinator, a writer, and a rank that is neither.
  for (const Strategy strategy : {Strategy::kReducedBlocking, Strategy::kBrigade})
    for (const std::uint32_t rank : {0U, 1U, 2U})
      cases.push_back({strategy, rank, ExitMode::kHoldsStep});
  return cases;
}

class RankExits : public testing::TestWithParam<RankExit> {
 protected:
  WritePlan plan() const {
    WritePlan plan{.strategy = GetParam().strategy};
    plan.tuning.unit_bytes = 64_KiB;
    plan.memory_bytes = 4_MiB;
    plan.step_timeout = GetParam().mode == ExitMode::kAbandonsStep ? kLongDeadline : kDeadline;
    if (plan.strategy == Strategy::kReducedBlocking) plan.writers = plan.files = 2;
    return plan;
  }

  /// The whole run of one rank.
  Status run(const Communicator& ranks) {
    auto runtime = std::make_unique<Runtime>(comm::make_ranks(ranks));
    auto dataset = runtime->create_dataset(path_, {.plan = plan()});
    if (!dataset) return failure(dataset.error());
    if (const auto first = write_step(*runtime, *dataset, contents_, 1); !first)
      return failure(first.error());
    auto step = dataset->begin_step(2);
    if (!step) return failure(step.error());
    if (const Status put = put_share(*runtime, *step, contents_); !put) return put;
    if (ranks->rank().number == GetParam().rank) {
      if (GetParam().mode == ExitMode::kAbandonsStep) step->abort();
      runtime.reset();
      return {};
    }
    expect_named(step->commit().wait());
    expect_named(write_step(*runtime, *dataset, contents_, 3));
    std::ignore = dataset->close();
    runtime.reset();
    return {};
  }

  static void expect_named(const Result<Receipt>& receipt) {
    ASSERT_FALSE(receipt) << "published without a rank's share";
    const Error& error = receipt.error();
    const std::string number = std::to_string(GetParam().rank);
    const bool is_named = error.rank() == GetParam().rank ||
                          message_contains(error, "rank " + number) ||
                          message_contains(error, "not committed it: " + number);
    EXPECT_TRUE(is_named) << error.message();
  }

  /// Continues the dataset with other ranks.
  void continue_writing() {
    const Status done = comm::run_ranks({.count = 2}, [this](const Communicator& ranks) -> Status {
      Runtime runtime{comm::make_ranks(ranks)};
      auto dataset =
          runtime.create_dataset(path_, {.existing = ExistingDataset::kAppend, .plan = plan()});
      if (!dataset) return failure(dataset.error());
      EXPECT_EQ(dataset->newest_step(), 1U);
      const auto receipt = write_step(runtime, *dataset, contents_, 4);
      return receipt ? dataset->close() : failure(receipt.error());
    });
    EXPECT_TRUE(done) << done.error().message();
    EXPECT_TRUE(is_intact(path_, contents_, 4));
  }

  const TemporaryDirectory directory_;
  const std::string path_ = directory_ / "run.fb";
  const TestContents contents_{7};
};

TEST_P(RankExits, during_a_step_is_named_in_the_errors_of_others) {
  const Status done = comm::run_ranks({.count = kRanksOfOne},
                                      [this](const Communicator& ranks) { return run(ranks); });
  EXPECT_TRUE(done) << done.error().message();
  continue_writing();
}

INSTANTIATE_TEST_SUITE_P(All, RankExits, testing::ValuesIn(exits()), exit_name);

TEST(RankExits, directly_after_commit_loses_nothing) {
  const TemporaryDirectory directory;
  const std::string path = directory / "run.fb";
  const TestContents contents(8);
  for (const Strategy strategy : kStrategies) {
    SCOPED_TRACE(name_of(strategy));
    const Status done =
        comm::run_ranks({.count = kRanksOfOne}, [&](const Communicator& ranks) -> Status {
          Runtime runtime{comm::make_ranks(ranks)};
          auto dataset = runtime.create_dataset(
              path, {.existing = ExistingDataset::kAppend, .plan = plan_of(strategy)});
          if (!dataset) return failure(dataset.error());
          auto step = dataset->begin_step(dataset->newest_step().value_or(0) + 1);
          if (!step) return failure(step.error());
          if (const Status put = put_share(runtime, *step, contents); !put) return put;
          std::ignore = step->commit();
          return {};
        });
    EXPECT_TRUE(done) << done.error().message();
  }
  EXPECT_TRUE(is_intact(path, contents, kStrategies.size()));
}

}  // namespace
}  // namespace forebay::faults
