// SPDX-License-Identifier: Apache-2.0
// Steps that overlap: every rank commits the next one before it has the receipt of those before, at
// its own pace, and now and then one rank gives up a step that the others commit. Whatever anybody
// had a receipt for is there and whole; what was given up fails on all ranks by the name of who did
// it; nothing else fails, nothing hangs, and nothing is left behind.
#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing.hpp"
#include "cargo.hpp"
#include "comm/in_process.hpp"
#include "how_often.hpp"
#include "reading.hpp"
#include "steps_under_way.hpp"

namespace forebay::faults {
namespace {

using Communicator = std::shared_ptr<comm::Communicator>;

constexpr std::uint32_t kOverlapRanks = 3;  ///< two on the first node, one on the second
constexpr std::uint32_t kOverlapPerNode = 2;
constexpr std::uint64_t kOverlapSteps = 12;
constexpr std::uint64_t kGivenUpEach = 4;

/// A way in which bytes get to storage.
struct Path {
  std::string_view name;
  Strategy strategy;
  std::optional<HandOff> hand_off = std::nullopt;
};
constexpr std::array kPaths{
    Path{"file_per_process", Strategy::kFilePerProcess},
    Path{"reduced_blocking_by_memory", Strategy::kReducedBlocking, HandOff::kSharedMemory},
    Path{"reduced_blocking_by_message", Strategy::kReducedBlocking, HandOff::kMessage},
    Path{"brigade", Strategy::kBrigade},
    Path{"gather", Strategy::kGather},
    Path{"baton", Strategy::kBaton},
    Path{"collective", Strategy::kCollective}};

struct Overlap {
  Path path;
  std::uint32_t in_flight;
  std::uint32_t per_group;
  std::uint64_t seed;

  friend std::ostream& operator<<(std::ostream& out, const Overlap& one) {
    return out << one.path.name << "_in_flight_" << one.in_flight << "_per_group_" << one.per_group
               << "_seed_" << one.seed;
  }
};

WritePlan plan_of(const Overlap& overlap) {
  WritePlan plan{.strategy = overlap.path.strategy, .hand_off = overlap.path.hand_off};
  if (plan.strategy == Strategy::kReducedBlocking) plan.writers = plan.files = 2;
  plan.unit_bytes = 1_MiB;
  plan.memory_bytes = 8_MiB;
  plan.steps_in_flight = overlap.in_flight;
  plan.steps_per_group = overlap.per_group;
  plan.deadline = std::chrono::seconds(20);
  return plan;
}

/// Which rank gives up which step.
using GivenUp = std::map<std::uint64_t, std::uint32_t>;

/// Every fourth step, by whomever the seed chooses.
GivenUp some_given_up(std::uint64_t seed) {
  GivenUp given_up;
  for (std::uint64_t step = kGivenUpEach; step <= kOverlapSteps; step += kGivenUpEach)
    given_up[step] = static_cast<std::uint32_t>(mixed(seed, step) % kOverlapRanks);
  return given_up;
}

class OverlappingSteps : public testing::TestWithParam<Overlap> {
 protected:
  /// What there is to write.
  struct Job {
    WritePlan plan;
    std::uint64_t steps;
    GivenUp given_up = {};
  };

  void write(const Job& job) {
    const comm::ThreadRanks ranks{.count = kOverlapRanks, .per_node = kOverlapPerNode};
    const Status done = comm::run_ranks(
        ranks, [&](const Communicator& communicator) { return write_as_rank(job, communicator); });
    EXPECT_TRUE(done) << done.error().message();
  }

  Status write_as_rank(const Job& job, const Communicator& ranks) {
    Runtime runtime{Ranks(ranks)};
    auto dataset = runtime.dataset(path_, job.plan);
    if (!dataset) return failure(dataset.error());
    StepsUnderWay under_way(job.plan.steps_in_flight);
    for (std::uint64_t number = 1; number <= job.steps; ++number) {
      if (under_way.is_full()) hear(runtime.rank(), under_way);
      drift_apart(cargo_.seed(), number, runtime.rank());
      auto step = dataset->begin_step(number);
      if (!step) return failure(step.error());
      if (const Status put = put_share(runtime, *step, cargo_); !put) return put;
      drift_apart(~cargo_.seed(), number, runtime.rank());
      const auto given_up = job.given_up.find(number);
      if (given_up != job.given_up.end() && given_up->second == runtime.rank())
        step->abandon();
      else
        under_way.add(number, step->commit());
    }
    while (!under_way.is_empty())
      hear(runtime.rank(), under_way);
    expect_end(job, *dataset);
    return {};
  }

  void hear(std::uint32_t rank, StepsUnderWay& under_way) {
    Outcome oldest = under_way.oldest();
    told_.at(rank).insert_or_assign(oldest.step, std::move(oldest.receipt));
  }

  static void expect_end(const Job& job, const Dataset& dataset) {
    const Status closed = dataset.close();
    EXPECT_TRUE(closed) << closed.error().message();
    const DatasetReport report = dataset.report();
    EXPECT_EQ(report.steps_published, job.steps - job.given_up.size());
    EXPECT_EQ(report.steps_failed, job.given_up.size());
  }

  /// That each rank was told of each step what became of it.
  void expect_told(const Job& job) const {
    for (std::uint32_t rank = 0; rank < kOverlapRanks; ++rank)
      for (std::uint64_t step = 1; step <= job.steps; ++step) {
        SCOPED_TRACE("rank " + std::to_string(rank) + ", step " + std::to_string(step));
        const auto given_up = job.given_up.find(step);
        const bool is_given_up = given_up != job.given_up.end();
        if (is_given_up && given_up->second == rank) continue;
        const auto told = told_.at(rank).find(step);
        ASSERT_NE(told, told_.at(rank).end()) << "it did not come so far";
        if (is_given_up) {
          expect_given_up_by(given_up->second, told->second);
        } else {
          EXPECT_TRUE(told->second) << told->second.error().message();
        }
      }
  }
  static void expect_given_up_by(std::uint32_t rank, const Result<Receipt>& receipt) {
    ASSERT_FALSE(receipt) << "published without a rank's share";
    EXPECT_EQ(receipt.error().kind(), ErrorClass::kCancelled) << receipt.error().message();
    EXPECT_EQ(receipt.error().rank(), rank) << receipt.error().message();
  }

  /// What lies there is what was promised, no more and no less.
  void expect_there() const {
    std::set<std::uint64_t> promised;
    for (const auto& told : told_)
      for (const auto& [step, receipt] : told)
        if (receipt) promised.insert(step);
    ASSERT_FALSE(promised.empty());
    EXPECT_TRUE(is_whole(path_, cargo_, *promised.rbegin()));
    const auto reader = StepReader::open(path_);
    ASSERT_TRUE(reader) << reader.error().message();
    EXPECT_EQ(reader->steps(), std::vector<std::uint64_t>(promised.begin(), promised.end()));
    EXPECT_EQ(leftovers(path_), std::vector<std::string>());
  }

  void write_and_look(const Job& job) {
    SCOPED_TRACE(testing::PrintToString(GetParam()));
    write(job);
    expect_told(job);
    expect_there();
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_ / "run.fb";
  const Cargo cargo_{GetParam().seed};
  /// By rank; each rank writes its own.
  std::array<std::map<std::uint64_t, Result<Receipt>>, kOverlapRanks> told_;
};

TEST_P(OverlappingSteps, of_which_ranks_give_some_up_lose_these_and_no_others) {
  write_and_look({.plan = plan_of(GetParam()),
                  .steps = kOverlapSteps,
                  .given_up = some_given_up(GetParam().seed)});
}

/// The same where no rank gives up any.
class OverlappingStepsOfAll : public OverlappingSteps {};

TEST_P(OverlappingStepsOfAll, are_durable) {
  write_and_look({.plan = plan_of(GetParam()), .steps = kOverlapSteps});
}

/// As little as a plan may have, which is less than the steps under way need together.
class OverlappingStepsInLittleMemory : public OverlappingSteps {
 protected:
  static Job job() {
    Job job{.plan = plan_of(GetParam()), .steps = 2 * kOverlapSteps};
    job.plan.memory_bytes = 2_MiB;
    return job;
  }
};

TEST_P(OverlappingStepsInLittleMemory, are_all_durable) { write_and_look(job()); }

/// Each rank gives up so many steps that its memory were used up if some of each stayed away.
TEST_P(OverlappingStepsInLittleMemory, give_all_of_it_back) {
  Job job = this->job();
  for (std::uint64_t step = kGivenUpEach; step <= job.steps; step += kGivenUpEach)
    job.given_up[step] = static_cast<std::uint32_t>(step / kGivenUpEach % kOverlapRanks);
  write_and_look(job);
}

std::vector<Overlap> overlaps() {
  std::vector<Overlap> all;
  std::uint64_t seed = 0;
  for (std::uint64_t time = 0; time < (tries_all() ? 3U : 1U); ++time)
    for (const Path& path : kPaths)
      for (std::uint32_t in_flight = 1; in_flight <= 3; ++in_flight)
        for (std::uint32_t per_group = 1; per_group <= 3; ++per_group)
          all.push_back({path, in_flight, per_group, ++seed});
  return all;
}

/// A third of them, with each number of steps in each place, or all.
std::vector<Overlap> some_overlaps() {
  std::vector<Overlap> some;
  for (const Overlap& one : overlaps())
    if (tries_all() || (one.in_flight + one.per_group) % 3 == (one.seed - 1) / 9 % 3)
      some.push_back(one);
  return some;
}

std::vector<Overlap> overlaps_in_little_memory() {
  std::vector<Overlap> all;
  for (const Path& path : kPaths)
    for (const std::uint32_t per_group : {1U, 2U})
      all.push_back({path, 3, per_group, all.size() + 1});
  return all;
}

INSTANTIATE_TEST_SUITE_P(All,
                         OverlappingSteps,
                         testing::ValuesIn(overlaps()),
                         testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(All,
                         OverlappingStepsOfAll,
                         testing::ValuesIn(some_overlaps()),
                         testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(All,
                         OverlappingStepsInLittleMemory,
                         testing::ValuesIn(overlaps_in_little_memory()),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace forebay::faults
