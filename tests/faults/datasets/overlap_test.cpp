// SPDX-License-Identifier: Apache-2.0
// Steps in flight: every rank commits the next step before it has the receipts of earlier ones, at
// its own pace. Some steps are aborted by one rank and committed by the others. Each step with a
// receipt is complete. An aborted step fails on all ranks with an Error that names the rank.
// Nothing else fails, nothing hangs, and no files remain.
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
#include "comm/in_process.hpp"
#include "comm/ranks_access.hpp"
#include "dataset_checks.hpp"
#include "in_flight_steps.hpp"
#include "test_contents.hpp"
#include "test_seeds.hpp"

namespace forebay::faults {
namespace {

using Communicator = std::shared_ptr<comm::Communicator>;

constexpr std::uint32_t kOverlapRanks = 3;  ///< two on the first node, one on the second
constexpr std::uint32_t kOverlapPerNode = 2;
constexpr std::uint64_t kOverlapSteps = 12;
constexpr std::uint64_t kAbortInterval = 4;

/// A path of bytes to storage.
struct WritePath {
  std::string_view name;
  Strategy strategy;
  std::optional<Exchange> exchange = std::nullopt;
};
constexpr std::array kPaths{
    WritePath{"file_per_process", Strategy::kFilePerProcess},
    WritePath{"reduced_blocking_by_memory", Strategy::kReducedBlocking, Exchange::kSharedMemory},
    WritePath{"reduced_blocking_by_message", Strategy::kReducedBlocking, Exchange::kMessage},
    WritePath{"brigade", Strategy::kBrigade},
    WritePath{"gather", Strategy::kGather},
    WritePath{"baton", Strategy::kBaton},
    WritePath{"collective", Strategy::kCollective}};

struct Overlap {
  WritePath path;
  std::uint32_t in_flight;
  std::uint32_t per_group;
  std::uint64_t seed;

  friend std::ostream& operator<<(std::ostream& out, const Overlap& one) {
    return out << one.path.name << "_in_flight_" << one.in_flight << "_per_group_" << one.per_group
               << "_seed_" << one.seed;
  }
};

WritePlan plan_of(const Overlap& overlap) {
  WritePlan plan{.strategy = overlap.path.strategy, .tuning = {.exchange = overlap.path.exchange}};
  if (plan.strategy == Strategy::kReducedBlocking) plan.writers = plan.files = 2;
  plan.tuning.unit_bytes = 1_MiB;
  plan.memory_bytes = 8_MiB;
  plan.steps_in_flight = overlap.in_flight;
  plan.tuning.steps_per_group = overlap.per_group;
  plan.step_timeout = std::chrono::seconds(20);
  return plan;
}

/// For each aborted step, the rank that aborts it.
using AbortedSteps = std::map<std::uint64_t, std::uint32_t>;

/// Every fourth step, by a rank chosen by the seed.
AbortedSteps random_aborted(std::uint64_t seed) {
  AbortedSteps aborted;
  for (std::uint64_t step = kAbortInterval; step <= kOverlapSteps; step += kAbortInterval)
    aborted[step] = static_cast<std::uint32_t>(hash_mix(seed, step) % kOverlapRanks);
  return aborted;
}

class OverlappingSteps : public testing::TestWithParam<Overlap> {
 protected:
  /// Steps to write.
  struct Job {
    WritePlan plan;
    std::uint64_t steps;
    AbortedSteps aborted = {};
  };

  void write(const Job& job) {
    const comm::ThreadRanks ranks{.count = kOverlapRanks, .per_node = kOverlapPerNode};
    const Status done = comm::run_ranks(
        ranks, [&](const Communicator& communicator) { return write_as_rank(job, communicator); });
    EXPECT_TRUE(done) << done.error().message();
  }

  Status write_as_rank(const Job& job, const Communicator& ranks) {
    Runtime runtime{comm::make_ranks(ranks)};
    auto dataset = runtime.create_dataset(path_, {.plan = job.plan});
    if (!dataset) return failure(dataset.error());
    InFlightSteps in_flight_steps(job.plan.steps_in_flight);
    for (std::uint64_t number = 1; number <= job.steps; ++number) {
      if (in_flight_steps.is_full()) collect_receipt(runtime.rank(), in_flight_steps);
      delay_rank(contents_.seed(), number, runtime.rank());
      auto step = dataset->begin_step(number);
      if (!step) return failure(step.error());
      if (const Status put = put_share(runtime, *step, contents_); !put) return put;
      delay_rank(~contents_.seed(), number, runtime.rank());
      const auto aborted = job.aborted.find(number);
      if (aborted != job.aborted.end() && aborted->second == runtime.rank())
        step->abort();
      else
        in_flight_steps.add(number, step->commit());
    }
    while (!in_flight_steps.is_empty())
      collect_receipt(runtime.rank(), in_flight_steps);
    expect_end(job, *dataset);
    return {};
  }

  void collect_receipt(std::uint32_t rank, InFlightSteps& in_flight_steps) {
    StepResult oldest = in_flight_steps.wait_oldest();
    receipts_.at(rank).insert_or_assign(oldest.step, std::move(oldest.receipt));
  }

  static void expect_end(const Job& job, const DatasetWriter& dataset) {
    const Status closed = dataset.close();
    EXPECT_TRUE(closed) << closed.error().message();
    const DatasetReport report = dataset.report();
    EXPECT_EQ(report.steps_published, job.steps - job.aborted.size());
    EXPECT_EQ(report.steps_failed, job.aborted.size());
  }

  /// Checks that each rank received the outcome of each step.
  void expect_receipts(const Job& job) const {
    for (std::uint32_t rank = 0; rank < kOverlapRanks; ++rank)
      for (std::uint64_t step = 1; step <= job.steps; ++step) {
        SCOPED_TRACE("rank " + std::to_string(rank) + ", step " + std::to_string(step));
        const auto aborted = job.aborted.find(step);
        const bool is_aborted = aborted != job.aborted.end();
        if (is_aborted && aborted->second == rank) continue;
        const auto receipts = receipts_.at(rank).find(step);
        ASSERT_NE(receipts, receipts_.at(rank).end()) << "the rank has no receipt of this step";
        if (is_aborted) {
          expect_aborted_by(aborted->second, receipts->second);
        } else {
          EXPECT_TRUE(receipts->second) << receipts->second.error().message();
        }
      }
  }
  static void expect_aborted_by(std::uint32_t rank, const Result<Receipt>& receipt) {
    ASSERT_FALSE(receipt) << "published without a rank's share";
    EXPECT_EQ(receipt.error().kind(), ErrorClass::kCancelled) << receipt.error().message();
    EXPECT_EQ(receipt.error().rank(), rank) << receipt.error().message();
  }

  /// Checks that exactly the acknowledged steps are stored.
  void expect_stored() const {
    std::set<std::uint64_t> promised;
    for (const auto& receipts : receipts_)
      for (const auto& [step, receipt] : receipts)
        if (receipt) promised.insert(step);
    ASSERT_FALSE(promised.empty());
    EXPECT_TRUE(is_intact(path_, contents_, *promised.rbegin()));
    const auto reader = CatalogReader::open(path_);
    ASSERT_TRUE(reader) << reader.error().message();
    EXPECT_EQ(reader->steps(), std::vector<std::uint64_t>(promised.begin(), promised.end()));
    EXPECT_EQ(stray_files(path_), std::vector<std::string>());
  }

  void write_and_verify(const Job& job) {
    SCOPED_TRACE(testing::PrintToString(GetParam()));
    write(job);
    expect_receipts(job);
    expect_stored();
  }

  const TemporaryDirectory directory_;
  const std::string path_ = directory_ / "run.fb";
  const TestContents contents_{GetParam().seed};
  /// By rank; each rank writes its own map.
  std::array<std::map<std::uint64_t, Result<Receipt>>, kOverlapRanks> receipts_;
};

TEST_P(OverlappingSteps, aborted_steps_fail_and_no_others) {
  write_and_verify({.plan = plan_of(GetParam()),
                    .steps = kOverlapSteps,
                    .aborted = random_aborted(GetParam().seed)});
}

/// Without aborted steps.
class OverlappingStepsOfAll : public OverlappingSteps {};

TEST_P(OverlappingStepsOfAll, all_steps_are_durable) {
  write_and_verify({.plan = plan_of(GetParam()), .steps = kOverlapSteps});
}

/// The minimum memory of a plan, less than all steps in flight need.
class OverlappingStepsInLittleMemory : public OverlappingSteps {
 protected:
  static Job job() {
    Job job{.plan = plan_of(GetParam()), .steps = 2 * kOverlapSteps};
    job.plan.memory_bytes = 2_MiB;
    return job;
  }
};

TEST_P(OverlappingStepsInLittleMemory, all_steps_are_durable) { write_and_verify(job()); }

/// Each rank aborts enough steps to exhaust its memory if each leaked some.
TEST_P(OverlappingStepsInLittleMemory, aborted_steps_release_all_memory) {
  Job job = this->job();
  for (std::uint64_t step = kAbortInterval; step <= job.steps; step += kAbortInterval)
    job.aborted[step] = static_cast<std::uint32_t>(step / kAbortInterval % kOverlapRanks);
  write_and_verify(job);
}

std::vector<Overlap> overlaps() {
  std::vector<Overlap> cases;
  std::uint64_t seed = 0;
  for (std::uint64_t time = 0; time < (is_exhaustive() ? 3U : 1U); ++time)
    for (const WritePath& path : kPaths)
      for (std::uint32_t in_flight = 1; in_flight <= 3; ++in_flight)
        for (std::uint32_t per_group = 1; per_group <= 3; ++per_group)
          cases.push_back({path, in_flight, per_group, ++seed});
  return cases;
}

/// A third of them, with each step number at each position, or all.
std::vector<Overlap> some_overlaps() {
  std::vector<Overlap> some;
  for (const Overlap& one : overlaps())
    if (is_exhaustive() || (one.in_flight + one.per_group) % 3 == (one.seed - 1) / 9 % 3)
      some.push_back(one);
  return some;
}

std::vector<Overlap> overlaps_in_little_memory() {
  std::vector<Overlap> cases;
  for (const WritePath& path : kPaths)
    for (const std::uint32_t per_group : {1U, 2U})
      cases.push_back({path, 3, per_group, cases.size() + 1});
  return cases;
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
