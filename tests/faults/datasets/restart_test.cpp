// SPDX-License-Identifier: Apache-2.0
// What any number of ranks has written in any way, any number of ranks reads back bit for bit by
// Runtime::open_dataset(), in other decompositions than it was written in.
#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing.hpp"
#include "cargo.hpp"
#include "comm/in_process.hpp"
#include "how_often.hpp"

namespace forebay::faults {
namespace {

using Communicator = std::shared_ptr<comm::Communicator>;

constexpr std::array<std::uint32_t, 6> kCounts{1, 2, 3, 5, 7, 8};
constexpr std::uint64_t kStep = 1;

/// One of some ranks that read a step, each what it would need.
class Reader {
 public:
  Reader(const StoredStep& step, const Cargo& cargo, const comm::Communicator& ranks)
      : step_(step), cargo_(cargo), rank_(ranks.rank().number), ranks_(ranks.size()) {}

  void expect_fields() const {
    EXPECT_TRUE(step_.damages().empty()) << step_.damages().front().message();
    const StoredField* const parts = step_.find(kParts);
    const StoredField* const grid = step_.find(kGrid);
    ASSERT_TRUE(parts != nullptr && grid != nullptr);
    EXPECT_EQ(parts->kind, FieldKind::kParts);
    EXPECT_EQ(parts->blocks, cargo_.parts());
    EXPECT_EQ(grid->kind, FieldKind::kGlobal);
    EXPECT_EQ(grid->shape, cargo_.grid_shape());
  }

  /// Those with part % ranks == rank, one request each.
  void expect_parts_one_by_one() const {
    for (std::uint64_t part = rank_; part < cargo_.parts(); part += ranks_) {
      const std::vector<double> expected = cargo_.part(step_.number(), part);
      ASSERT_TRUE(step_.has(kParts, Part{part}));
      EXPECT_EQ(step_.elements(kParts, Part{part}).value(), expected.size());
      std::vector<double> values = unset<double>(expected.size());
      expect_same(step_.read(kParts, Part{part}, std::span(values)), values, expected);
    }
  }

  /// Those that follow one another, as one request.
  void expect_parts_together() const {
    const auto mine = step_.parts_of_rank(kParts, rank_, ranks_);
    ASSERT_TRUE(mine) << mine.error().message();
    std::vector<double> expected;
    for (const Part part : *mine)
      std::ranges::copy(cargo_.part(step_.number(), part.number), std::back_inserter(expected));
    std::vector<double> values = unset<double>(expected.size());
    expect_same(step_.read(kParts, std::span(*mine), std::span(values)), values, expected);
  }

  /// A share of each part, all under way together.
  void expect_ranges_of_parts() const {
    const std::uint64_t parts = cargo_.parts();
    std::vector<std::vector<double>> values(parts);
    std::vector<Future<ByteCount>> reads;
    for (std::uint64_t part = 0; part < parts; ++part) {
      const std::uint64_t elements = step_.elements(kParts, Part{part}).value();
      values[part] = unset<double>(end_of_range(elements) - begin_of_range(elements));
      reads.push_back(
          step_.read(kParts, Part{part}, begin_of_range(elements), std::span(values[part])));
    }
    for (std::uint64_t part = 0; part < parts; ++part) {
      const std::vector<double> whole = cargo_.part(step_.number(), part);
      const std::span share = std::span(whole).first(end_of_range(whole.size()));
      expect_same(std::move(reads[part]), values[part],
                  share.subspan(begin_of_range(whole.size())));
    }
  }

  void expect_grid(const GridBlock& block) const {
    if (block.elements() == 0) return;
    SCOPED_TRACE("from " + testing::PrintToString(block.start) + ", as much as " +
                 testing::PrintToString(block.count));
    const Subarray region{.shape = {}, .start = block.start, .count = block.count};
    std::vector<float> values = unset<float>(block.elements());
    const std::vector<float> expected = cargo_.grid(step_.number(), block);
    expect_same(step_.read(kGrid, region, std::span(values)), values, expected);
  }
  /// The block that it has where the array is cut along one dimension.
  GridBlock slab(std::size_t dimension) const { return cargo_.share_of(rank_, ranks_, dimension); }
  /// One that is cut along all dimensions, anywhere.
  GridBlock box() const {
    GridBlock block{{}, {}};
    for (const std::uint64_t extent : cargo_.grid_shape()) {
      const std::uint64_t chance = mixed(cargo_.seed() + ranks_, rank_, block.start.size());
      block.start.push_back(chance % extent);
      block.count.push_back(1 + chance / extent % (extent - block.start.back()));
    }
    return block;
  }

 private:
  /// What no cargo has.
  template <class T>
  static std::vector<T> unset(std::uint64_t elements) {
    return std::vector<T>(elements, std::numeric_limits<T>::quiet_NaN());
  }
  template <class T>
  static void expect_same(Future<ByteCount> read,
                          const std::vector<T>& values,
                          std::type_identity_t<std::span<const T>> expected) {
    const auto got = read.wait();
    ASSERT_TRUE(got) << got.error().message();
    EXPECT_EQ(*got, expected.size_bytes());
    EXPECT_TRUE(same_bytes(std::as_bytes(std::span(values)), std::as_bytes(expected)));
  }
  std::uint64_t begin_of_range(std::uint64_t elements) const { return elements * rank_ / ranks_; }
  std::uint64_t end_of_range(std::uint64_t elements) const {
    return elements * (rank_ + 1) / ranks_;
  }

  const StoredStep& step_;
  const Cargo& cargo_;
  const std::uint32_t rank_;
  const std::uint32_t ranks_;
};

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
    const Reader reader(*step, cargo_, *ranks);
    reader.expect_fields();
    reader.expect_parts_one_by_one();
    reader.expect_parts_together();
    reader.expect_ranges_of_parts();
    // The writers have cut it along the one in between.
    for (const std::size_t dimension : {0U, 2U})
      reader.expect_grid(reader.slab(dimension));
    reader.expect_grid(reader.box());
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
