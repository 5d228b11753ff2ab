// SPDX-License-Identifier: Apache-2.0
// Ranks that are killed while they write, where all of them compute and where ranks are given to
// I/O: a writer, one that hands over, the one that coordinates. The others are told which, in
// bounded time; what was durable stays, and the dataset goes on.
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
#include "cargo.hpp"
#include "comm/in_process.hpp"
#include "process_ranks.hpp"
#include "reading.hpp"

namespace forebay::faults {
namespace {

using Communicator = std::shared_ptr<comm::Communicator>;

/// Three on the first node and two on the second; the last of each may be given to I/O.
constexpr std::uint32_t kRanks = 5;
constexpr std::uint32_t kPerNode = 3;
/// As Forebay counts them where some are: those that compute first.
constexpr std::array<std::uint32_t, kRanks> kNumbers{0, 1, 3, 2, 4};
/// More than anybody writes before the kill.
constexpr std::uint64_t kStepsMax = 100'000;

constexpr int kAsExpected = 0;
constexpr uid_t kNobody = 65'534;

struct Kill {
  Placement placement;
  HandOff hand_off;
  std::uint32_t rank;  ///< of the job
  Strategy strategy = Strategy::kReducedBlocking;

  bool has_dedicated() const { return placement == Placement::kDedicated; }
  bool is_given_to_io() const { return has_dedicated() && (rank == 2 || rank == 4); }
  std::uint32_t number() const { return has_dedicated() ? kNumbers.at(rank) : rank; }
  std::uint32_t computing() const { return has_dedicated() ? 3 : kRanks; }
};

std::ostream& operator<<(std::ostream& out, const Kill& kill) {
  if (kill.strategy != Strategy::kReducedBlocking)
    return out << name_of(kill.strategy) << "_" << kill.rank;
  out << (kill.has_dedicated() ? "dedicated_" : "in_rank_")
      << (kill.hand_off == HandOff::kMessage ? "message_" : "memory_");
  return out << kill.rank;
}

WritePlan plan_of(const Kill& kill) {
  WritePlan plan{.strategy = kill.strategy, .unit_bytes = 64_KiB};
  plan.memory_bytes = 1_MiB;
  plan.hand_off = kill.hand_off;
  plan.placement = kill.placement;
  // A baton in one file, a chain through all ranks, or two writers.
  const bool is_chain = kill.strategy == Strategy::kBrigade;
  plan.files = kill.strategy == Strategy::kReducedBlocking ? 2 : 1;
  plan.writers = kill.strategy == Strategy::kBaton ? kRanks : is_chain ? 1 : 2;
  if (kill.has_dedicated()) plan.writers = plan.files = 0;
  plan.deadline = std::chrono::seconds(5);
  return plan;
}

class KilledRanks : public testing::TestWithParam<Kill> {
 protected:
  /// What a process that is not killed does; it is its exit code that tells.
  int run(const Communicator& ranks, int receipts) const {
    const auto complain = [&](const std::string& what) {
      std::fprintf(stderr, "rank %u: %s\n", ranks->rank().number, what.c_str());
      return 1;
    };
    Runtime runtime(Ranks(ranks), {.placement = GetParam().placement});
    if (runtime.role() == Role::kAgent)
      return runtime.serve() ? kAsExpected : complain("serve() failed");
    auto dataset = runtime.dataset(path_, plan_of(GetParam()));
    if (!dataset) return complain(dataset.error().message());
    for (std::uint64_t step = 1; step <= kStepsMax; ++step) {
      const auto receipt = write_step(runtime, *dataset, cargo_, step);
      if (!receipt && is_named(receipt.error())) return after(runtime, *dataset, step);
      if (!receipt) return complain("not named: " + receipt.error().message());
      const std::uint32_t me = runtime.rank();
      if (::write(receipts, &me, sizeof me) != sizeof me) return complain("nobody listens");
    }
    return complain("nobody was killed");
  }

  static bool is_named(const Error& error) {
    const std::uint32_t number = GetParam().number();
    // Who noticed first may have left already, when others hear of the next step.
    const bool is_sequel = mentions(error, "has closed the dataset before this step");
    return is_sequel || error.rank() == number || mentions(error, "rank " + std::to_string(number));
  }

  /// Once a step has failed: no other is written without all ranks, and whoever closes hears of it.
  int after(Runtime& runtime, Dataset& dataset, std::uint64_t failed) const {
    if (write_step(runtime, dataset, cargo_, failed + 1)) return 4;
    if (dataset.close()) return 5;
    if (!GetParam().is_given_to_io()) return kAsExpected;
    // Those who compute are all there, and can do without.
    const auto again = runtime.dataset(path_ + "-2", plan_of(GetParam()));
    if (error_class(again) != ErrorClass::kClosed || !is_named(again.error())) {
      std::fprintf(stderr, "again: %s\n", again ? "opened" : again.error().message().c_str());
      return 2;
    }
    auto own = runtime.dataset(path_ + "-2", Strategy::kFilePerProcess);
    if (!own || !write_step(runtime, *own, cargo_, 1) || !own->close()) return 3;
    return kAsExpected;
  }

  /// With other ranks, and another writer among them.
  void go_on() {
    const Placement placement = GetParam().placement;
    const auto write = [this, placement](const Communicator& ranks) -> Status {
      Runtime runtime(Ranks(ranks), {.placement = placement});
      if (runtime.role() == Role::kAgent) return runtime.serve();
      auto dataset = runtime.dataset(path_);
      if (!dataset) return failure(dataset.error());
      EXPECT_EQ(dataset->plan().placement, placement);
      const std::uint64_t next = dataset->newest_step().value() + 1;
      EXPECT_GT(next, 1U);
      const auto receipt = write_step(runtime, *dataset, cargo_, next);
      return receipt ? dataset->close() : failure(receipt.error());
    };
    const Status done = comm::run_ranks({.count = 3}, write);
    EXPECT_TRUE(done) << done.error().message();
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_ / "run.fb";
  const Cargo cargo_{11};
};

/// A job that writes steps, and the receipts that its ranks tell of.
class Job {
 public:
  using Code = std::function<int(const Communicator& job, int receipts)>;

  Job(std::uint32_t computing, const Code& code) : receipts_(computing) {
    std::array<int, 2> pipe{};
    EXPECT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
    said_ = Descriptor(pipe[0]);
    const Descriptor saying(pipe[1]);
    ranks_.emplace(kRanks, kPerNode,
                   [&](const Communicator& job) { return code(job, saying.get()); });
  }
  ProcessRanks& ranks() { return *ranks_; }

  /// True once each rank that computes has had a receipt.
  bool has_begun() {
    while (std::ranges::min(receipts_) == 0)
      if (!hear()) return false;
    return true;
  }
  /// After the end of all: the newest step of which anybody had a receipt.
  std::uint64_t promised() {
    while (hear()) {
    }
    return std::ranges::max(receipts_);
  }

 private:
  bool hear() {
    std::uint32_t who = 0;
    const bool heard = ::read(said_.get(), &who, sizeof who) == sizeof who;
    if (heard) ++receipts_.at(who);
    return heard;
  }

  std::vector<std::uint64_t> receipts_;
  Descriptor said_;
  std::optional<ProcessRanks> ranks_;
};

TEST_P(KilledRanks, in_the_midst_of_writing_is_named_to_all_others) {
  Job job(GetParam().computing(),
          [&](const Communicator& ranks, int receipts) { return run(ranks, receipts); });
  ASSERT_TRUE(job.has_begun());
  // At any moment of the next steps.
  std::this_thread::sleep_for(std::chrono::milliseconds(GetParam().rank * 7));
  job.ranks().kill(GetParam().rank);
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    const auto expected =
        rank == GetParam().rank ? std::optional<int>() : std::optional(kAsExpected);
    EXPECT_EQ(job.ranks().result(rank), expected) << "rank " << rank;
  }
  const std::uint64_t promised = job.promised();
  EXPECT_TRUE(is_whole(path_, cargo_, promised));
  go_on();
  EXPECT_TRUE(is_whole(path_, cargo_, promised + 1));
}

/// Who writes for a rank leaves before that rank has noticed why.
class KilledCoordinator : public KilledRanks {};

TEST_P(KilledCoordinator, is_named_to_who_slept_until_all_others_had_left) {
  Job job(kRanks, [&](const Communicator& ranks, int receipts) { return run(ranks, receipts); });
  ASSERT_TRUE(job.has_begun());
  constexpr std::uint32_t kSleeper = 4;
  job.ranks().stop(kSleeper);
  job.ranks().kill(GetParam().rank);
  for (std::uint32_t rank = 1; rank < kSleeper; ++rank)
    EXPECT_EQ(job.ranks().result(rank), kAsExpected) << "rank " << rank;
  job.ranks().resume(kSleeper);
  EXPECT_EQ(job.ranks().result(kSleeper), kAsExpected);
}

/// Runs as somebody who may not look into the folder of the dataset.
bool become_a_stranger() { return ::setgid(kNobody) == 0 && ::setuid(kNobody) == 0; }

TEST(DedicatedStranger, who_cannot_open_files_is_named_and_can_be_done_without) {
  if (::geteuid() != 0) GTEST_SKIP() << "not root: all processes have the same rights";
  const TemporaryFolder folder;
  const std::string path = folder / "run.fb";
  const Cargo cargo(12);
  ProcessRanks ranks(3, 3, [&](const Communicator& job) {
    const bool is_stranger = job->rank().number == 2;
    if (is_stranger && !become_a_stranger()) return 2;
    Runtime runtime(Ranks(job), {.placement = Placement::kDedicated});
    if (runtime.role() == Role::kAgent) return runtime.serve() ? kAsExpected : 3;
    const auto dataset = runtime.dataset(path);
    const auto failed =
        dataset.and_then([&](Dataset open) { return write_step(runtime, open, cargo, 1); });
    if (error_class(failed) != ErrorClass::kPermission || failed.error().rank() != 2U) return 4;
    std::ignore = dataset.map([](const Dataset& open) { return open.close(); });
    auto own = runtime.dataset(path, Strategy::kFilePerProcess);
    return own && write_step(runtime, *own, cargo, 2) && own->close() ? kAsExpected : 5;
  });
  for (std::uint32_t rank = 0; rank < 3; ++rank)
    EXPECT_EQ(ranks.result(rank), kAsExpected) << "rank " << rank;
  EXPECT_TRUE(is_whole(path, cargo, 2));
}

const std::vector<Kill> kKilledRanks = [] {
  std::vector<Kill> all;
  for (const Placement placement : {Placement::kInRank, Placement::kDedicated})
    for (const HandOff hand_off : {HandOff::kSharedMemory, HandOff::kMessage})
      for (std::uint32_t rank = 0; rank < kRanks; ++rank)
        all.push_back({placement, hand_off, rank});
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    all.push_back({Placement::kInRank, HandOff::kNone, rank, Strategy::kBaton});
    all.push_back({Placement::kInRank, HandOff::kBrigade, rank, Strategy::kBrigade});
  }
  return all;
}();

INSTANTIATE_TEST_SUITE_P(All,
                         KilledRanks,
                         testing::ValuesIn(kKilledRanks),
                         testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(All,
                         KilledCoordinator,
                         testing::Values(Kill{Placement::kInRank, HandOff::kSharedMemory, 0},
                                         Kill{Placement::kInRank, HandOff::kMessage, 0}),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace forebay::faults
