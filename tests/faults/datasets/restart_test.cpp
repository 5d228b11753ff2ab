// SPDX-License-Identifier: Apache-2.0
// Any number of ranks reads back bit for bit what any number of ranks wrote with any strategy.
// Reads use Runtime::open_dataset(), in other decompositions than the step was written in.
#include <array>
#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing.hpp"
#include "comm/in_process.hpp"
#include "comm/ranks_access.hpp"
#include "restart_reader.hpp"
#include "test_contents.hpp"
#include "test_seeds.hpp"

namespace forebay::faults {
namespace {

using Communicator = std::shared_ptr<comm::Communicator>;

constexpr std::array<std::uint32_t, 6> kCounts{1, 2, 3, 5, 7, 8};
constexpr std::uint64_t kStep = 1;

struct Restart {
  Strategy strategy;
  std::uint32_t writers;

  friend std::ostream& operator<<(std::ostream& out, const Restart& one) {
    return out << name_of(one.strategy) << " by " << one.writers << " ranks";
  }
};

std::string restart_name(const testing::TestParamInfo<Restart>& info) {
  std::string name(name_of(info.param.strategy));
  for (char& letter : name)
    if (letter == '-') letter = '_';
  return name + "_" + std::to_string(info.param.writers);
}

class Restarts : public testing::TestWithParam<Restart> {
 protected:
  std::uint64_t seed() const {
    return hash_mix(static_cast<std::uint64_t>(GetParam().strategy), GetParam().writers);
  }
  Status write() const {
    const auto write = [this](const Communicator& ranks) -> Status {
      Runtime runtime{comm::make_ranks(ranks)};
      auto dataset = runtime.create_dataset(path_, {.plan = plan_of(GetParam().strategy)});
      if (!dataset) return failure(dataset.error());
      const auto receipt = write_step(runtime, *dataset, contents_, kStep);
      if (!receipt) return failure(receipt.error());
      return dataset->close();
    };
    return comm::run_ranks({.count = GetParam().writers}, write);
  }
  Status read_as_rank(const Communicator& ranks) const {
    Runtime runtime{comm::make_ranks(ranks)};
    // Without verification only the requested bytes are read.
    const bool is_verified = (seed() + ranks->size()) % 2 == 0;
    const auto dataset = runtime.open_dataset(
        path_, {.verification = is_verified ? Verification::kOn : Verification::kOff});
    if (!dataset) return failure(dataset.error());
    const auto step = dataset->open_step(kStep);
    if (!step) return failure(step.error());
    SCOPED_TRACE("rank " + std::to_string(runtime.rank()) + (is_verified ? ", verified" : ""));
    RestartReader(*step, contents_, *ranks).expect_all();
    return {};
  }
  void expect_same_for(std::uint32_t readers) const {
    const Status done = comm::run_ranks(
        {.count = readers}, [this](const Communicator& ranks) { return read_as_rank(ranks); });
    EXPECT_TRUE(done) << (done ? "" : done.error().message());
  }

  const TemporaryDirectory directory_;
  const std::string path_ = directory_ / "run.fb";
  const TestContents contents_{seed()};
};

TEST_P(Restarts, are_exact_on_any_number_of_ranks) {
  SCOPED_TRACE("contents seed " + std::to_string(seed()));
  const Status written = write();
  ASSERT_TRUE(written) << written.error().message();
  for (std::size_t i = 0; i < kCounts.size(); ++i) {
    // One of the six counts, a different one for each case.
    if (!is_exhaustive() && i != seed() % kCounts.size()) continue;
    SCOPED_TRACE(std::to_string(kCounts.at(i)) + " readers");
    expect_same_for(kCounts.at(i));
  }
}

std::vector<Restart> restarts() {
  std::vector<Restart> cases;
  for (const Strategy strategy : kStrategies)
    for (const std::uint32_t writers : kCounts)
      cases.push_back({strategy, writers});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, Restarts, testing::ValuesIn(restarts()), restart_name);

}  // namespace
}  // namespace forebay::faults
