// SPDX-License-Identifier: Apache-2.0
// What any number of ranks has written in any way, any number of ranks reads back bit for bit by
// Runtime::open_dataset(), in other decompositions than it was written in.
#include <array>
#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing.hpp"
#include "cargo.hpp"
#include "comm/in_process.hpp"
#include "how_often.hpp"
#include "restart_reader.hpp"

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
    return mixed(static_cast<std::uint64_t>(GetParam().strategy), GetParam().writers);
  }
  Status write() const {
    const auto write = [this](const Communicator& ranks) -> Status {
      Runtime runtime{Ranks(ranks)};
      auto dataset = runtime.dataset(path_, GetParam().strategy);
      if (!dataset) return failure(dataset.error());
      const auto receipt = write_step(runtime, *dataset, cargo_, kStep);
      if (!receipt) return failure(receipt.error());
      return dataset->close();
    };
    return comm::run_ranks({.count = GetParam().writers}, write);
  }
  Status read_as_rank(const Communicator& ranks) const {
    Runtime runtime{Ranks(ranks)};
    // Without verification other bytes are read, and only those that are asked for.
    const bool is_verified = (seed() + ranks->size()) % 2 == 0;
    const auto dataset = runtime.open_dataset(
        path_, {.verification = is_verified ? Verification::kOn : Verification::kOff});
    if (!dataset) return failure(dataset.error());
    const auto step = dataset->step(kStep);
    if (!step) return failure(step.error());
    SCOPED_TRACE("rank " + std::to_string(runtime.rank()) + (is_verified ? ", verified" : ""));
    RestartReader(*step, cargo_, *ranks).expect_all();
    return {};
  }
  void expect_same_for(std::uint32_t readers) const {
    const Status done = comm::run_ranks(
        {.count = readers}, [this](const Communicator& ranks) { return read_as_rank(ranks); });
    EXPECT_TRUE(done) << (done ? "" : done.error().message());
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_ / "run.fb";
  const Cargo cargo_{seed()};
};

TEST_P(Restarts, are_exact_on_any_number_of_ranks) {
  SCOPED_TRACE("contents of seed " + std::to_string(seed()));
  const Status written = write();
  ASSERT_TRUE(written) << written.error().message();
  for (std::size_t i = 0; i < kCounts.size(); ++i) {
    // One of the six, another one for each way of writing.
    if (!tries_all() && i != seed() % kCounts.size()) continue;
    SCOPED_TRACE(std::to_string(kCounts.at(i)) + " readers");
    expect_same_for(kCounts.at(i));
  }
}

std::vector<Restart> restarts() {
  std::vector<Restart> all;
  for (const Strategy strategy : kStrategies)
    for (const std::uint32_t writers : kCounts)
      all.push_back({strategy, writers});
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, Restarts, testing::ValuesIn(restarts()), restart_name);

}  // namespace
}  // namespace forebay::faults
