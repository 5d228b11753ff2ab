// SPDX-License-Identifier: Apache-2.0
// Both flavors of generated metrics, whose inclusive values are sums of exclusive ones, and a cache
// of their rows.
#include "cube/metric_rows.hpp"

#include <array>
#include <cstring>

#include <gtest/gtest.h>

#include "cube/generate.hpp"
#include "cube/profile_file.hpp"
#include "cube/row_cache.hpp"
#include "cube/testing.hpp"

namespace forebay::cube {
namespace {

constexpr std::size_t kLocations = 5;
constexpr std::uint32_t kCallPaths = 20;

class MetricRowsTest : public ::testing::TestWithParam<ValueKind> {
 protected:
  void SetUp() override {
    GenerateOptions options{.path = directory_.file("a.cubex")};
    options.shape = {
        .locations = std::uint32_t{kLocations}, .metrics = 2, .call_paths = kCallPaths};
    options.shape.type = ValueType{GetParam(), 1};
    options.rows = std::uint64_t{2} * kCallPaths;
    const Status made = generate(options);
    ASSERT_TRUE(made) << made.error().message();
    profile_.emplace(require_value(open_profile(options.path)));
    rows_.emplace(*profile_);
  }
  template <class Value>
  static Value require_value(Result<Value> result) {
    if (!result) ADD_FAILURE() << result.error().message();
    return std::move(*result);
  }
  std::vector<double> numbers(std::size_t metric, std::uint32_t index, MetricKind flavor) {
    std::vector<double> values(kLocations);
    const Status read = rows_->read_numbers({metric, index, flavor}, values, scratch_);
    EXPECT_TRUE(read) << read.error().message();
    return values;
  }
  command::testing::TempDirectory directory_;
  std::optional<Profile> profile_;
  std::optional<MetricRows> rows_;
  FlavorScratch scratch_;
};

TEST_P(MetricRowsTest, inclusive_is_sum_of_exclusive_and_children) {
  using enum MetricKind;
  const CallTree& tree = profile_->anchor().call_tree;
  const auto kind = profile_->anchor().metrics[0].kind;
  for (std::uint32_t index = 0; index < kCallPaths; ++index) {
    std::vector<double> sum = numbers(0, index, kExclusive);
    for (std::uint32_t below = index + 1; below < kCallPaths; ++below) {
      if (tree.at(below).parent != index) continue;
      const auto child = numbers(0, below, kInclusive);
      for (std::size_t i = 0; i < kLocations; ++i)
        sum[i] += child[i];
    }
    const auto inclusive = numbers(0, index, kInclusive);
    for (std::size_t i = 0; i < kLocations; ++i)  // added in another order
      EXPECT_DOUBLE_EQ(inclusive[i], sum[i]) << name_of(kind) << " at " << index;
  }
}

TEST_P(MetricRowsTest, converted_values_equal_numbers) {
  const Metric& metric = profile_->anchor().metrics[0];
  const bool is_inclusive = metric.kind == MetricKind::kInclusive;
  const FlavoredRow other{0, 0, is_inclusive ? MetricKind::kExclusive : MetricKind::kInclusive};
  const ValueType type = require_value(rows_->converted_type(other));
  ASSERT_EQ(type.size_bytes(), 8U);
  std::array<std::byte, std::size_t{8} * kLocations> compressed{};
  ASSERT_TRUE(rows_->read_converted(other, compressed, scratch_));
  const auto expected = numbers(0, 0, other.flavor);
  for (std::size_t i = 0; i < kLocations; ++i) {
    const auto number = std::span(compressed).subspan(8 * i);
    const Scalar scalar = scalar_runs_of(type, number).front().scalar;
    EXPECT_EQ(as_double(scalar, number), expected[i]);
  }
}

TEST_P(MetricRowsTest, cached_rows_are_read_once) {
  RowCache cache(*rows_, 3 * kLocations * sizeof(double));
  const auto first = [&](std::uint32_t index) {
    const auto row = cache.get({0, index, MetricKind::kInclusive}, scratch_);
    EXPECT_TRUE(row);
    return row ? RowCache::values_of(**row)[0] : -1;
  };
  for (int again = 0; again < 4; ++again)
    for (std::uint32_t index = 0; index < 3; ++index)
      EXPECT_EQ(first(index), numbers(0, index, MetricKind::kInclusive)[0]);
  EXPECT_EQ(cache.read_count(), 3U);
  first(3);
  first(0);  // evicts the oldest one
  EXPECT_EQ(cache.read_count(), 5U);
}

TEST_P(MetricRowsTest, held_rows_keep_their_values) {
  RowCache cache(*rows_, 1);
  const auto held = require_value(cache.get({0, 1, MetricKind::kInclusive}, scratch_));
  for (std::uint32_t index = 0; index < kCallPaths; ++index)
    ASSERT_TRUE(cache.get({0, index, MetricKind::kInclusive}, scratch_));
  const auto values = RowCache::values_of(*held);
  EXPECT_EQ(std::vector(values.begin(), values.end()), numbers(0, 1, MetricKind::kInclusive));
}

INSTANTIATE_TEST_SUITE_P(All,
                         MetricRowsTest,
                         ::testing::Values(ValueKind::kUint16,
                                           ValueKind::kUint32,
                                           ValueKind::kInt64,
                                           ValueKind::kUint64,
                                           ValueKind::kDouble));

}  // namespace
}  // namespace forebay::cube
