// SPDX-License-Identifier: Apache-2.0
// What a rank does in tests of restarts: reads its share of a step by Runtime::open_dataset(), as
// programs do, and in other decompositions than it was written in. Whatever the ranks are.
#pragma once

#include <forebay/runtime.hpp>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing.hpp"
#include "cargo.hpp"
#include "comm/communicator.hpp"

namespace forebay::faults {

/// One of some ranks that read a step, each what it would need.
class RestartReader {
 public:
  RestartReader(const StoredStep& step, const Cargo& cargo, const comm::Communicator& ranks)
      : step_(step), cargo_(cargo), rank_(ranks.rank().number), ranks_(ranks.size()) {}

  /// By all kinds of requests. What is not as it was written fails the test.
  void expect_all() const {
    expect_fields();
    expect_parts_one_by_one();
    expect_parts_together();
    expect_ranges_of_parts();
    // Along those along which the writers have not cut it.
    for (std::size_t dimension = 0; dimension < 3; ++dimension)
      if (dimension != step_.number() % 3) expect_grid(slab(dimension));
    expect_grid(box());
  }

 private:
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

}  // namespace forebay::faults
