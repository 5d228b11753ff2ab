// SPDX-License-Identifier: Apache-2.0
// Ranks are killed while they write, with and without I/O ranks: a writer, one that forwards, the
// coordinator. The other ranks get an Error that names the killed rank, in bounded time. Durable
// steps remain, and the dataset can be continued.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/descriptor.hpp"
#include "base/testing.hpp"
#include "comm/in_process.hpp"
#include "comm/ranks_access.hpp"
#include "dataset_checks.hpp"
#include "process_ranks.hpp"
#include "runtime/plan_cycle_testing.hpp"
#include "runtime/runtime_access.hpp"
#include "test_contents.hpp"
#include "tests/faults/unprivileged_user.hpp"

namespace forebay::faults {
namespace {

using Communicator = std::shared_ptr<comm::Communicator>;

/// Three on the first node and two on the second; the last of each may be an I/O rank.
constexpr std::uint32_t kRanks = 5;
constexpr std::uint32_t kPerNode = 3;
/// Numbers of ranks if some are I/O ranks: compute ranks come first.
constexpr std::array<std::uint32_t, kRanks> kNumbers{0, 1, 3, 2, 4};
/// More than any rank writes before the kill.
constexpr std::uint64_t kStepsMax = 100'000;

constexpr int kAsExpected = 0;

struct KillCase {
  Placement placement;
  Exchange exchange;
  std::uint32_t rank;  ///< number in the job
  Strategy strategy = Strategy::kReducedBlocking;
  write::PlanChanges changes = write::PlanChanges::kNever;

  bool changes_plans() const { return changes == write::PlanChanges::kBetweenGroups; }
  bool has_dedicated() const { return placement == Placement::kDedicated; }
  bool is_given_to_io() const { return has_dedicated() && (rank == 2 || rank == 4); }
  std::uint32_t number() const { return has_dedicated() ? kNumbers.at(rank) : rank; }
  std::uint32_t compute_ranks() const { return has_dedicated() ? 3 : kRanks; }
};

std::ostream& operator<<(std::ostream& out, const KillCase& kill_case) {
  if (kill_case.changes_plans())
    return out << (kill_case.has_dedicated() ? "dedicated_" : "in_rank_") << "changing_"
               << kill_case.rank;
  if (kill_case.strategy != Strategy::kReducedBlocking)
    return out << name_of(kill_case.strategy) << "_" << kill_case.rank;
  out << (kill_case.has_dedicated() ? "dedicated_" : "in_rank_")
      << (kill_case.exchange == Exchange::kMessage ? "message_" : "memory_");
  return out << kill_case.rank;
}

WritePlan plan_of(const KillCase& kill_case) {
  WritePlan plan{.strategy = kill_case.strategy, .tuning = {.unit_bytes = 64_KiB}};
  plan.memory_bytes = 1_MiB;
  plan.tuning.exchange = kill_case.exchange;
  plan.tuning.placement = kill_case.placement;
  // A baton in one file, a chain through all ranks, or two writers.
  const bool is_chain = kill_case.strategy == Strategy::kBrigade;
  plan.files = kill_case.strategy == Strategy::kReducedBlocking ? 2 : 1;
  plan.writers = kill_case.strategy == Strategy::kBaton ? kRanks : is_chain ? 1 : 2;
  if (kill_case.has_dedicated()) plan.writers = plan.files = 0;
  plan.step_timeout = std::chrono::seconds(5);
  return plan;
}

/// Every strategy that a dataset can change to. With I/O ranks, these write in each, so that no
/// step can be published without them.
std::vector<WritePlan> cycle_of(const KillCase& kill_case) {
  WritePlan opened = plan_of(kill_case);
  opened.memory_bytes = 8_MiB;
  if (!kill_case.has_dedicated()) return plans_to_cycle(opened, kill_case.compute_ranks());
  WritePlan chain = opened;
  chain.strategy = Strategy::kBrigade;
  chain.tuning.exchange.reset();
  WritePlan messages = opened;
  messages.tuning.exchange = Exchange::kMessage;
  messages.writers = 2;
  messages.files = 1;
  return {chain, messages, opened};
}

Result<DatasetWriter> create(Runtime& runtime, const std::string& path, const KillCase& kill_case) {
  WritePlan plan = plan_of(kill_case);
  if (!kill_case.changes_plans()) return runtime.create_dataset(path, {.plan = plan});
  plan.memory_bytes = 8_MiB;
  std::unique_ptr<write::PlanChooser> chooser;
  if (runtime.rank() == 0) chooser = std::make_unique<CyclingChooser>(cycle_of(kill_case), 2);
  return RuntimeAccess::create_dataset(runtime, path, {.plan = plan}, std::move(chooser));
}

class KilledRanks : public testing::TestWithParam<KillCase> {
 protected:
  /// The code of each process; its exit code is the result.
  int run(const Communicator& ranks, int receipts) const {
    const auto report_failure = [&](const std::string& what) {
      std::fprintf(stderr, "rank %u: %s\n", ranks->rank().number, what.c_str());
      return 1;
    };
    Runtime runtime(comm::make_ranks(ranks), {.placement = GetParam().placement});
    if (runtime.role() == Role::kIo)
      return runtime.serve() ? kAsExpected : report_failure("serve() failed");
    auto dataset = create(runtime, path_, GetParam());
    if (!dataset) return report_failure(dataset.error().message());
    for (std::uint64_t step = 1; step <= kStepsMax; ++step) {
      const auto receipt = write_step(runtime, *dataset, contents_, step);
      if (!receipt && is_named(receipt.error())) return after(runtime, *dataset, step);
      if (!receipt) return report_failure("not named: " + receipt.error().message());
      const std::uint32_t own_rank = runtime.rank();
      if (::write(receipts, &own_rank, sizeof own_rank) != sizeof own_rank)
        return report_failure("the pipe of receipts is closed");
    }
    return report_failure("no rank was killed");
  }

  static bool is_named(const Error& error) {
    const std::uint32_t number = GetParam().number();
    // The rank that noticed first may have closed the dataset before others begin the next step.
    const bool is_consequence = message_contains(error, "has closed the dataset before this step");
    return is_consequence || error.rank() == number ||
           message_contains(error, "rank " + std::to_string(number));
  }

  /// After a failed step: no step is written without all ranks, and close() reports the failure.
  int after(Runtime& runtime, DatasetWriter& dataset, std::uint64_t failed) const {
    if (write_step(runtime, dataset, contents_, failed + 1)) return 4;
    if (dataset.close()) return 5;
    if (!GetParam().is_given_to_io()) return kAsExpected;
    // All compute ranks remain, and can write without I/O ranks.
    const auto again = runtime.create_dataset(path_ + "-2", {.plan = plan_of(GetParam())});
    if (error_class(again) != ErrorClass::kClosed || !is_named(again.error())) {
      std::fprintf(stderr, "second dataset: %s\n",
                   again ? "opened" : again.error().message().c_str());
      return 2;
    }
    auto own = runtime.create_dataset(path_ + "-2", {.existing = ExistingDataset::kAppend,
                                                     .plan = plan_of(Strategy::kFilePerProcess)});
    if (!own || !write_step(runtime, *own, contents_, 1) || !own->close()) return 3;
    return kAsExpected;
  }

  /// With other ranks, and another writer among them.
  void continue_writing() {
    const Placement placement = GetParam().placement;
    const auto write = [this, placement](const Communicator& ranks) -> Status {
      Runtime runtime(comm::make_ranks(ranks), {.placement = placement});
      if (runtime.role() == Role::kIo) return runtime.serve();
      auto dataset = runtime.create_dataset(path_, {.existing = ExistingDataset::kAppend});
      if (!dataset) return failure(dataset.error());
      EXPECT_EQ(dataset->plan().tuning.placement, placement);
      const std::uint64_t next = dataset->newest_step().value() + 1;
      EXPECT_GT(next, 1U);
      const auto receipt = write_step(runtime, *dataset, contents_, next);
      return receipt ? dataset->close() : failure(receipt.error());
    };
    const Status done = comm::run_ranks({.count = 3}, write);
    EXPECT_TRUE(done) << done.error().message();
  }

  const TemporaryDirectory directory_;
  const std::string path_ = directory_ / "run.fb";
  const TestContents contents_{11};
};

/// A job that writes steps, and the receipts that its ranks report.
class RankJob {
 public:
  using Code = std::function<int(const Communicator& job, int receipts)>;

  RankJob(std::uint32_t compute_ranks, const Code& code) : receipts_(compute_ranks) {
    std::array<int, 2> pipe{};
    EXPECT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
    receipt_pipe_ = Descriptor(pipe[0]);
    const Descriptor write_end(pipe[1]);
    ranks_.emplace(kRanks, kPerNode,
                   [&](const Communicator& job) { return code(job, write_end.get()); });
  }
  ProcessRanks& ranks() { return *ranks_; }

  /// True when each compute rank has had a receipt.
  bool has_begun() {
    while (std::ranges::min(receipts_) == 0)
      if (!read_receipt()) return false;
    return true;
  }
  /// After the end of all ranks: the newest step of which any rank had a receipt.
  std::uint64_t acknowledged() {
    while (read_receipt()) {
    }
    return std::ranges::max(receipts_);
  }

 private:
  bool read_receipt() {
    std::uint32_t rank = 0;
    const bool waited = ::read(receipt_pipe_.get(), &rank, sizeof rank) == sizeof rank;
    if (waited) ++receipts_.at(rank);
    return waited;
  }

  std::vector<std::uint64_t> receipts_;
  Descriptor receipt_pipe_;
  std::optional<ProcessRanks> ranks_;
};

TEST_P(KilledRanks, while_writing_are_named_in_the_errors_of_all_others) {
  RankJob job(GetParam().compute_ranks(),
              [&](const Communicator& ranks, int receipts) { return run(ranks, receipts); });
  ASSERT_TRUE(job.has_begun());
  // At any moment during the next steps; if plans change, after all have been in use.
  const int delay_ms = GetParam().changes_plans() ? 150 : 0;
  std::this_thread::sleep_for(std::chrono::milliseconds(delay_ms + GetParam().rank * 7));
  job.ranks().kill(GetParam().rank);
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    const auto expected =
        rank == GetParam().rank ? std::optional<int>() : std::optional(kAsExpected);
    EXPECT_EQ(job.ranks().result(rank), expected) << "rank " << rank;
  }
  const std::uint64_t promised = job.acknowledged();
  EXPECT_TRUE(is_intact(path_, contents_, promised));
  continue_writing();
  EXPECT_TRUE(is_intact(path_, contents_, promised + 1));
}

/// The aggregator of a rank exits before that rank has noticed the cause.
class KilledCoordinator : public KilledRanks {};

TEST_P(KilledCoordinator, is_named_to_a_rank_that_was_stopped_until_others_exited) {
  RankJob job(kRanks,
              [&](const Communicator& ranks, int receipts) { return run(ranks, receipts); });
  ASSERT_TRUE(job.has_begun());
  constexpr std::uint32_t kSleeper = 4;
  job.ranks().stop(kSleeper);
  job.ranks().kill(GetParam().rank);
  for (std::uint32_t rank = 1; rank < kSleeper; ++rank)
    EXPECT_EQ(job.ranks().result(rank), kAsExpected) << "rank " << rank;
  job.ranks().resume(kSleeper);
  EXPECT_EQ(job.ranks().result(kSleeper), kAsExpected);
}

/// Changes to a user without access to the directory of the dataset.
bool drop_privileges() {
  return ::setgid(kUnprivilegedUser) == 0 && ::setuid(kUnprivilegedUser) == 0;
}

TEST(DedicatedIoRank, without_permission_is_named_and_can_be_omitted) {
  if (::geteuid() != 0) GTEST_SKIP() << "not root: all processes have the same rights";
  const TemporaryDirectory directory;
  const std::string path = directory / "run.fb";
  const TestContents contents(12);
  ProcessRanks ranks(3, 3, [&](const Communicator& job) {
    const bool is_stranger = job->rank().number == 2;
    if (is_stranger && !drop_privileges()) return 2;
    Runtime runtime(comm::make_ranks(job), {.placement = Placement::kDedicated});
    if (runtime.role() == Role::kIo) return runtime.serve() ? kAsExpected : 3;
    const auto dataset = runtime.create_dataset(path);
    const auto failed = dataset.and_then(
        [&](DatasetWriter open) { return write_step(runtime, open, contents, 1); });
    if (error_class(failed) != ErrorClass::kPermission || failed.error().rank() != 2U) return 4;
    std::ignore = dataset.map([](const DatasetWriter& open) { return open.close(); });
    auto own = runtime.create_dataset(
        path, {.existing = ExistingDataset::kAppend, .plan = plan_of(Strategy::kFilePerProcess)});
    return own && write_step(runtime, *own, contents, 2) && own->close() ? kAsExpected : 5;
  });
  for (std::uint32_t rank = 0; rank < 3; ++rank)
    EXPECT_EQ(ranks.result(rank), kAsExpected) << "rank " << rank;
  EXPECT_TRUE(is_intact(path, contents, 2));
}

const std::vector<KillCase> kKilledRanks = [] {
  std::vector<KillCase> cases;
  for (const Placement placement : {Placement::kInRank, Placement::kDedicated})
    for (const Exchange exchange : {Exchange::kSharedMemory, Exchange::kMessage})
      for (std::uint32_t rank = 0; rank < kRanks; ++rank)
        cases.push_back({placement, exchange, rank});
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    cases.push_back({Placement::kInRank, Exchange::kNone, rank, Strategy::kBaton});
    cases.push_back({Placement::kInRank, Exchange::kBrigade, rank, Strategy::kBrigade});
    for (const Placement placement : {Placement::kInRank, Placement::kDedicated})
      cases.push_back({placement, Exchange::kSharedMemory, rank, Strategy::kReducedBlocking,
                       write::PlanChanges::kBetweenGroups});
  }
  return cases;
}();

INSTANTIATE_TEST_SUITE_P(All,
                         KilledRanks,
                         testing::ValuesIn(kKilledRanks),
                         testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(All,
                         KilledCoordinator,
                         testing::Values(KillCase{Placement::kInRank, Exchange::kSharedMemory, 0},
                                         KillCase{Placement::kInRank, Exchange::kMessage, 0},
                                         KillCase{Placement::kInRank, Exchange::kSharedMemory, 0,
                                                  Strategy::kReducedBlocking,
                                                  write::PlanChanges::kBetweenGroups}),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace forebay::faults
