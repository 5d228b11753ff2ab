// SPDX-License-Identifier: Apache-2.0
// What any number of ranks has written in any way, any number of ranks reads back bit for bit, in
// other decompositions than it was written in.
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
#include "reading.hpp"

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
  /// Each reader for itself, cut along the two dimensions that the writers did not cut.
  void expect_same_for(std::uint32_t readers) const {
    const auto read = [this, readers](const Communicator& ranks) -> Status {
      auto reader = StepReader::open(path_);
      if (!reader) return failure(reader.error());
      for (const std::size_t dimension : {0U, 2U})
        EXPECT_TRUE(has_share(*reader, cargo_, kStep, {ranks->rank().number, readers, dimension}));
      return {};
    };
    const Status done = comm::run_ranks({.count = readers}, read);
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
