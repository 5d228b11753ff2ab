// SPDX-License-Identifier: Apache-2.0
// The reads of a rank in tests of restarts. It reads its share of a step by
// Runtime::open_dataset(), as programs do, in other decompositions than the step was written in.
// Works with ranks of any kind.
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
#include "comm/communicator.hpp"
#include "test_contents.hpp"

namespace forebay::faults {

/// One of several ranks that read a step; each reads its own share.
class RestartReader {
 public:
  RestartReader(const StepReader& step,
                const TestContents& contents,
                const comm::Communicator& ranks)
      : step_(step), contents_(contents), rank_(ranks.rank().number), ranks_(ranks.size()) {}

  /// Reads with all kinds of requests. A value that differs from the written one fails the test.
  void expect_all() const {
    expect_fields();
    expect_parts_one_by_one();
    expect_parts_in_one_read();
    expect_ranges_of_parts();
    // Along the dimensions along which the writers did not cut it.
    for (std::size_t dimension = 0; dimension < 3; ++dimension)
      if (dimension != step_.number() % 3) expect_grid(slab(dimension));
    expect_grid(box());
  }

 private:
  void expect_fields() const {
    EXPECT_TRUE(step_.errors().empty()) << step_.errors().front().message();
    const FieldInfo* const parts = step_.find(kParts);
    const FieldInfo* const grid = step_.find(kGrid);
    ASSERT_TRUE(parts != nullptr && grid != nullptr);
    EXPECT_EQ(parts->kind, FieldKind::kParts);
    EXPECT_EQ(parts->blocks, contents_.parts());
    EXPECT_EQ(grid->kind, FieldKind::kGlobal);
    EXPECT_EQ(grid->shape, contents_.grid_shape());
  }

  /// The parts with part % ranks == rank, one request each.
  void expect_parts_one_by_one() const {
    for (std::uint64_t part = rank_; part < contents_.parts(); part += ranks_) {
      const std::vector<double> expected = contents_.part(step_.number(), part);
      ASSERT_TRUE(step_.has(kParts, Part{part}));
      EXPECT_EQ(step_.element_count(kParts, Part{part}).value(), expected.size());
      std::vector<double> values = unset<double>(expected.size());
      expect_same(step_.read(kParts, Part{part}, std::span(values)), values, expected);
    }
  }

  /// Consecutive parts, as one request.
  void expect_parts_in_one_read() const {
    const auto mine = step_.parts_of_rank(kParts, rank_, ranks_);
    ASSERT_TRUE(mine) << mine.error().message();
    std::vector<double> expected;
    for (const Part part : *mine)
      std::ranges::copy(contents_.part(step_.number(), part.number), std::back_inserter(expected));
    std::vector<double> values = unset<double>(expected.size());
    expect_same(step_.read(kParts, std::span(*mine), std::span(values)), values, expected);
  }

  /// A share of each part, all in flight together.
  void expect_ranges_of_parts() const {
    const std::uint64_t parts = contents_.parts();
    std::vector<std::vector<double>> values(parts);
    std::vector<Future<ByteCount>> reads;
    for (std::uint64_t part = 0; part < parts; ++part) {
      const std::uint64_t elements = step_.element_count(kParts, Part{part}).value();
      values[part] = unset<double>(end_of_range(elements) - begin_of_range(elements));
      reads.push_back(
          step_.read(kParts, Part{part}, begin_of_range(elements), std::span(values[part])));
    }
    for (std::uint64_t part = 0; part < parts; ++part) {
      const std::vector<double> whole = contents_.part(step_.number(), part);
      const std::span share = std::span(whole).first(end_of_range(whole.size()));
      expect_same(std::move(reads[part]), values[part],
                  share.subspan(begin_of_range(whole.size())));
    }
  }

  void expect_grid(const GridBlock& block) const {
    if (block.elements() == 0) return;
    SCOPED_TRACE("start " + testing::PrintToString(block.start) + ", count " +
                 testing::PrintToString(block.count));
    const Subarray selection{.shape = {}, .start = block.start, .count = block.count};
    std::vector<float> values = unset<float>(block.elements());
    const std::vector<float> expected = contents_.grid(step_.number(), block);
    expect_same(step_.read(kGrid, selection, std::span(values)), values, expected);
  }
  /// The block of this rank if the array is cut along one dimension.
  GridBlock slab(std::size_t dimension) const {
    return contents_.share_of(rank_, ranks_, dimension);
  }
  /// A block that is cut along all dimensions, at a random position.
  GridBlock box() const {
    GridBlock block{{}, {}};
    for (const std::uint64_t extent : contents_.grid_shape()) {
      const std::uint64_t chance = hash_mix(contents_.seed() + ranks_, rank_, block.start.size());
      block.start.push_back(chance % extent);
      block.count.push_back(1 + chance / extent % (extent - block.start.back()));
    }
    return block;
  }
  /// A value that no contents have.
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
    EXPECT_TRUE(equal_bytes(std::as_bytes(std::span(values)), std::as_bytes(expected)));
  }
  std::uint64_t begin_of_range(std::uint64_t elements) const { return elements * rank_ / ranks_; }
  std::uint64_t end_of_range(std::uint64_t elements) const {
    return elements * (rank_ + 1) / ranks_;
  }

  const StepReader& step_;
  const TestContents& contents_;
  const std::uint32_t rank_;
  const std::uint32_t ranks_;
};

}  // namespace forebay::faults
